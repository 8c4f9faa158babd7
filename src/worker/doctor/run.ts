/** Looks at a run folder: journal, trees, tokens, checkpoints, and whether its inputs are still what they were. Changes nothing. */
import { join } from 'node:path';
import { checkIds, checkSettings, checkTree, CHECKS, type Finding } from '../../core/checks.ts';
import { ok, upTo, warning, wrong, type CheckResult } from '../../core/checkup.ts';
import type { Event } from '../../core/events.ts';
import { fold } from '../../core/fold.ts';
import { FailureError } from '../../core/types.ts';
import { listCheckpoints, verifyCheckpoint } from '../../run/checkpoint.ts';
import { hashesOf } from '../../run/create.ts';
import { statOf } from '../../run/disk.ts';
import { CHECKPOINT_FILES, FILES } from '../../run/layout.ts';
import { lastWholeLine } from '../../run/lines.ts';
import { liveLock } from '../../run/lock.ts';
import { openRun, type Run } from '../../run/reader.ts';
import { usageOf, usageText } from '../../run/usage.ts';

/** Findings of one kind that are named one by one. */
const NAMED = 5;

export async function checkRun(folder: string): Promise<CheckResult[]> {
  const run = openRun(folder);
  const isLive = liveLock(folder) !== undefined;
  const journal = await journalOf(run, isLive);
  return [
    ok('manifest', `${run.manifest.name} of ${run.manifest.created}, ${run.manifest.config.steps} steps.`),
    ...journal.results,
    ...(await checkTrees(run, journal.events)),
    ...(await checkCheckpoints(run)),
    ...(await checkInputs(run)),
    ok('disk', `${usageText(usageOf(folder))}.`),
  ];
}

async function journalOf(run: Run, isLive: boolean): Promise<{ results: CheckResult[]; events: Event[] }> {
  const file = join(run.folder, FILES.events);
  let events: Event[];
  try {
    events = await run.events();
  } catch (error) {
    if (!(error instanceof FailureError)) throw error;
    return { results: [wrong('journal', error.message, { file, ...fixOf(error) })], events: [] };
  }
  const { status, step } = fold(events);
  const results = [
    ok('journal', `${events.length} facts without a gap; ${isLive ? 'live' : status}, step ${step}.`),
  ];
  const torn = (statOf(file)?.size ?? 0) - lastWholeLine(file).end;
  if (torn > 0 && !isLive)
    results.push(
      warning(
        'journal',
        `${torn} bytes behind the last line are the beginning of one that was never finished.`,
        { file, fix: 'Resume the run; they are cut off.' },
      ),
    );
  if (!isLive && (status === 'running' || status === 'paused'))
    results.push(
      warning('journal', 'The run ended without saying so.', {
        file,
        fix: `branchpoint resume ${run.folder}`,
      }),
    );
  return { results, events };
}

/** Every tree with its tokens, and every tree that the journal says is there. */
async function checkTrees(run: Run, events: readonly Event[]): Promise<CheckResult[]> {
  const file = join(run.folder, FILES.trees);
  const settings = checkSettings(run.manifest.config);
  const broken: CheckResult[] = [];
  const findings: Finding[] = [];
  const entries = await attempt(() => run.trees());
  if (entries instanceof FailureError) return [wrong('trees', entries.message, { file, ...fixOf(entries) })];
  for (const { id } of entries) {
    const read = await attempt(async () => ({ tree: await run.tree(id), columns: await run.columns(id) }));
    if (read instanceof FailureError) broken.push(wrong('trees', read.message, { tree: id, ...fixOf(read) }));
    else findings.push(...checkTree({ ...read, settings }));
  }
  const known = new Set(entries.map(({ id }) => id));
  const missing = fold(events).trees.filter(({ id, span }) => span && !known.has(id));
  for (const { id } of missing)
    broken.push(wrong('trees', `Tree ${id} was told, but is not in ${FILES.trees}.`, { file, tree: id }));
  const claims = checkIds.flatMap(id =>
    upTo(
      NAMED,
      findings
        .filter(finding => finding.id === id)
        .map(({ severity, message, tree, path, segment, token }) => ({
          ...{
            id: `trees.${id}`,
            status: severity,
            message: `${message} (tree ${tree}; ${CHECKS[id].claim})`,
            tree,
          },
          ...(path !== undefined && { path }),
          ...(segment !== undefined && { segment }),
          ...(token !== undefined && { token }),
        })),
    ),
  );
  const sound = `${entries.length} trees are whole and keep all ${checkIds.length} claims.`;
  return broken.length + claims.length === 0 ? [ok('trees', sound)] : [...upTo(NAMED, broken), ...claims];
}

async function checkCheckpoints(run: Run): Promise<CheckResult[]> {
  const names = listCheckpoints(run.folder);
  if (names.length === 0) return [ok('checkpoints', 'There is no checkpoint yet.')];
  const results: CheckResult[] = [];
  for (const name of names) {
    const folder = join(run.folder, name);
    const failure = await attempt(() => verifyCheckpoint(folder, [CHECKPOINT_FILES.optimizer]));
    if (failure instanceof FailureError)
      results.push(
        wrong('checkpoints', `${name}: ${failure.message}`, {
          file: folder,
          fix: 'Remove the folder; an older checkpoint is resumed from.',
        }),
      );
  }
  return results.length > 0
    ? results
    : [ok('checkpoints', `${names.length} checkpoints have the hashes that they were saved with.`)];
}

/** Whether data, policy and corpus are those that the run began with: if not, a resumed run is no longer the same run. */
async function checkInputs({ manifest }: Run): Promise<CheckResult[]> {
  const now = await attempt(() => hashesOf(manifest.config));
  const fix = 'Restore them before the run is resumed, or begin a new run.';
  if (now instanceof FailureError) return [warning('inputs', now.message, { fix })];
  const changed = Object.entries(manifest.hashes).filter(([name, hash]) => now[name] !== hash);
  if (changed.length === 0)
    return [ok('inputs', `${Object.keys(manifest.hashes).join(', ')} are what the run began with.`)];
  return [
    warning('inputs', `Changed since the run began: ${changed.map(([name]) => name).join(', ')}.`, { fix }),
  ];
}

/** What the work gives, or the failure that it ended with. */
async function attempt<T>(work: () => Promise<T>): Promise<T | FailureError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FailureError) return error;
    throw error;
  }
}

const fixOf = ({ failure }: FailureError): { fix?: string } =>
  failure.fix === undefined ? {} : { fix: failure.fix };
