/** `compare CONFIG…`: trains every config under every seed and sets the results side by side. Knows nothing of how a run trains. */
import { availableParallelism } from 'node:os';
import { basename, join, resolve } from 'node:path';
import * as fs from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../core/config.ts';
import type { Event } from '../core/events.ts';
import { plain } from '../core/figures.ts';
import { fold } from '../core/fold.ts';
import { FailureError } from '../core/types.ts';
import { loadConfig } from '../run/configFile.ts';
import { createRun } from '../run/create.ts';
import { FILES } from '../run/layout.ts';
import { openRun } from '../run/reader.ts';
import {
  hasSwitch,
  numberOption,
  textOption,
  UsageError,
  type Call,
  type ExitCode,
  type Io,
} from './commandLine.ts';
import { compareRuns, measureRun, type MeasuredRun } from './comparison.ts';
import { tableOf } from './comparisonTable.ts';
import { realEquipment } from './equipment.ts';
import { CHANGED_BY, checkedAgain, logTo, versions } from './launch.ts';
import { evaluationLine, type Screen } from './progress.ts';
import { work, type Watcher } from './session.ts';
import { stopOnSignals } from './signals.ts';
import type { Control } from './status.ts';

/** One config under one seed. */
interface Entry {
  /** Of the config, without the seed. */
  name: string;
  config: Config;
  file: string;
  text: string;
}

interface Plan {
  entries: Entry[];
  baseline: string;
  jobs: number;
  /** Folder of all its runs. */
  out: string;
}

/** Runs that finished before are not repeated, interrupted ones go on; so the same command can be given again. */
export async function compareCommand(call: Call, io: Io): Promise<ExitCode> {
  const plan = planOf(call);
  io.out.write(
    `${plan.entries.length} runs in ${plan.out}, ${plan.jobs} at a time; ${plan.baseline} is the baseline\n`,
  );
  const running = new Set<Control>();
  let isStopping = false;
  const unlisten = stopOnSignals(() => {
    isStopping = true;
    io.out.write(
      'Stopping: the steps under way are finished and saved first. Press Ctrl-C again to end at once.\n',
    );
    for (const control of running) control.verbs.stop();
  });
  // In the order of the entries, whichever run ends first.
  const measured = new Array<MeasuredRun | undefined>(plan.entries.length).fill(undefined);
  const waiting = [...plan.entries.entries()];
  const takeTurns = async (): Promise<void> => {
    for (let next = waiting.shift(); next && !isStopping; next = waiting.shift()) {
      const [place, entry] = next;
      const folder = await trained(entry, plan.out, { running, screen: io.out });
      if (folder !== undefined) measured[place] = await measureRun(folder, entry.name);
    }
  };
  try {
    await Promise.all(Array.from({ length: plan.jobs }, takeTurns));
  } finally {
    unlisten();
  }
  const finished = measured.filter(run => run !== undefined);
  return report(plan, finished, { call, io });
}

function report(
  { entries, baseline }: Plan,
  measured: readonly MeasuredRun[],
  { call, io }: { call: Call; io: Io },
): ExitCode {
  if (measured.length < entries.length) {
    io.out.write(
      `${measured.length} of ${entries.length} runs have finished; the same command goes on with the others.\n`,
    );
    return 1;
  }
  const comparison = compareRuns(measured, baseline);
  io.out.write(`${tableOf(comparison).join('\n')}\n`);
  if (hasSwitch(call, 'json')) io.out.write(`${JSON.stringify(comparison)}\n`);
  return 0;
}

/** Brings one entry's run to its end and returns its folder; undefined where it was stopped or failed. */
async function trained(
  entry: Entry,
  out: string,
  { running, screen }: { running: Set<Control>; screen: Screen },
): Promise<string | undefined> {
  const label = `${entry.name} seed ${entry.config.seed}`;
  const say = (text: string): void => void screen.write(`${label.padEnd(20)} ${text}\n`);
  const found = await findRun(entry, out);
  if (found?.isFinished) say(`has finished already: ${found.folder}`);
  if (found?.isFinished) return found.folder;
  const { folder } = found ?? (await createRun({ ...entry, versions: versions() }));
  say(`${found ? 'goes on' : 'begins'} in ${folder}`);
  let own: Control | undefined;
  const watch = (control: Control): Watcher => {
    running.add((own = control));
    return { tell: event => tell(event, control, say), isAlone: screen.isTTY !== true };
  };
  try {
    return (await work(folder, realEquipment(logTo(folder)), watch)) === 'finished' ? folder : undefined;
  } finally {
    if (own) running.delete(own);
  }
}

/** A tenth of the steps, every evaluation, every trouble and the end. */
function tell(event: Event, { status }: Control, say: (text: string) => void): void {
  if (event.type === 'step-finished' && event.step % Math.ceil(status.steps / 10) === 0) {
    const { reward, accuracy, seconds } = event.summary;
    const right = accuracy === undefined ? '–' : (100 * accuracy).toFixed(1);
    say(
      `step ${event.step}/${status.steps}: reward ${plain(reward.mean)}, ${right} % right, ${seconds?.total.toFixed(1) ?? '–'} s`,
    );
  }
  if (event.type === 'evaluated') say(evaluationLine(event.step, event.summary));
  if (event.type === 'warned') say(`warning: ${event.failure.message}`);
  if (event.type === 'paused') say(`paused: ${event.reason}`);
  if (event.type === 'run-ended') say(`${event.outcome}${event.failure ? `: ${event.failure.message}` : ''}`);
}

/** The run of exactly this config, if one was begun; how many threads it has changes nothing. */
async function findRun(
  { config }: Entry,
  out: string,
): Promise<{ folder: string; isFinished: boolean } | undefined> {
  const names = fs.existsSync(out) ? fs.readdirSync(out) : [];
  for (const name of names.filter(name => name.startsWith(`${config.name}-`))) {
    const folder = join(out, name);
    if (!fs.existsSync(join(folder, FILES.manifest))) continue;
    const run = openRun(folder);
    if (!isDeepStrictEqual({ ...run.manifest.config, threads: 0 }, { ...config, threads: 0 })) continue;
    return { folder, isFinished: fold(await run.events()).status === 'finished' };
  }
  return undefined;
}

function planOf(call: Call): Plan {
  const files = call.args.map(file => resolve(file));
  const loaded = files.map(file => ({ file, ...loadConfig(file) }));
  const out = resolve(textOption(call, 'out') ?? join(loaded[0]!.config.runs, 'compare'));
  const seeds = seedsOf(textOption(call, 'seeds') ?? '1,2,3');
  const count = loaded.length * seeds.length;
  const threads = Math.max(...loaded.map(({ config }) => config.threads));
  const cores = availableParallelism();
  const given = numberOption(call, 'jobs', 1);
  const jobs = Math.min(count, given ?? (threads === 0 ? 1 : Math.max(1, Math.floor(cores / threads))));
  const [steps, tasks, samples] = (['steps', 'tasks', 'samples'] as const).map(name =>
    numberOption(call, name, 1),
  );
  // All configs under one seed before the next one, so that a stopped comparison has whole rows.
  const entries = seeds.flatMap(seed =>
    loaded.map(({ config, file, text }): Entry => {
      const share = config.threads === 0 && jobs > 1 ? Math.max(1, Math.floor(cores / jobs)) : config.threads;
      const name = `${config.name}-seed-${seed}`;
      const evaluation = {
        ...config.evaluation,
        tasks: tasks ?? config.evaluation.tasks,
        samples: samples ?? config.evaluation.samples,
      };
      const changed = { seed, name, runs: out, threads: share, steps: steps ?? config.steps, evaluation };
      return { name: config.name, config: checkedAgain({ ...config, ...changed }, OPTIONS), file, text };
    }),
  );
  refuseUnlike(entries);
  return { entries, baseline: baselineOf(entries, textOption(call, 'baseline')), jobs, out };
}

/** By the keys that they take the place of. */
const OPTIONS = {
  ...CHANGED_BY,
  ...{ seed: 'seeds', 'evaluation.tasks': 'tasks', 'evaluation.samples': 'samples' },
};

function seedsOf(text: string): number[] {
  const seeds = text.split(',').map(part => (/^\d+$/.test(part.trim()) ? Number(part) : NaN));
  if (seeds.some(Number.isNaN) || new Set(seeds).size < seeds.length)
    throw new UsageError(
      `--seeds must be different whole numbers with commas between them, such as 1,2,3, not ${JSON.stringify(text)}.`,
    );
  return seeds.sort((a, b) => a - b);
}

/** Only what was measured on the same tasks can be compared, and names must tell configs apart. */
function refuseUnlike(entries: readonly Entry[]): void {
  const byName = new Map(entries.map(({ name, file }) => [name, file]));
  const [first] = entries;
  for (const { name, file, config } of entries) {
    if (byName.get(name) !== file)
      throw new FailureError({
        where: 'config',
        message: `${basename(file)} and ${basename(byName.get(name)!)} both have the name ${name}.`,
        fix: 'Give each a `name` of its own.',
      });
    for (const key of ['train', 'heldOut'] as const)
      if (config.data[key] !== first!.config.data[key])
        throw new FailureError({
          where: 'config',
          message: `${basename(file)} and ${basename(first!.file)} name different files in data.${key}.`,
          fix: 'Compare configs on the same tasks.',
        });
    if ((config.evaluation.tasks === 0) !== (first!.config.evaluation.tasks === 0))
      throw new FailureError({
        where: 'config',
        message: `Of ${basename(file)} and ${basename(first!.file)} only one is evaluated on held-out tasks.`,
        fix: 'Set evaluation.tasks in both, or to 0 in both; --tasks sets it for all.',
      });
  }
}

function baselineOf(entries: readonly Entry[], wanted: string | undefined): string {
  const names = [...new Set(entries.map(({ name }) => name))];
  if (wanted === undefined)
    return (entries.find(({ config }) => config.preset === 'grpo') ?? entries[0]!).name;
  if (names.includes(wanted)) return wanted;
  throw new UsageError(`--baseline must be one of ${names.join(', ')}, not ${JSON.stringify(wanted)}.`);
}
