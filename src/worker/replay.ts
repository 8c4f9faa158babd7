/**
 * Draws a step's stored trees again, with the weights, settings and random streams that they were drawn with, and sets both side by
 * side. A tree takes its decisions by itself, so that one of them can be drawn without the others of its step. Writes nothing.
 */
import type { Config } from '../core/config.ts';
import { toolTags } from '../core/configToolRules.ts';
import { isCounterfactual, weightsName } from '../core/counterfactual.ts';
import type { Fact } from '../core/events.ts';
import { compareReplay, type Replay } from '../core/replay.ts';
import type { Grown } from '../core/tree.ts';
import { FailureError, refusal } from '../core/types.ts';
import { elapsed } from '../run/clock.ts';
import { isInputUnchanged } from '../run/create.ts';
import type { Run } from '../run/reader.ts';
import { closingAfter } from './closing.ts';
import type { Equipment } from './equipment.ts';
import { openReward } from './judges.ts';
import { judgeAsTrained, reopenPolicy, withoutRecording, type ReopenedPolicy } from './reopen.ts';
import { growAgain } from './rollout.ts';
import { storedTools, withStoredResults } from './tools/storedTools.ts';
import type { ToolPool } from './tools/tool.ts';
import { unlessAborted } from './unlessAborted.ts';
import { weightsBefore, type Weights } from './weights.ts';

export interface ReplayRequest {
  step: number;
  /** Only this tree of the step; all that were kept where absent. */
  tree?: string;
  /** `stored`: what the tree asked is answered as it was, and only what it did not ask by the tools; `live`: all by the tools. */
  tools: 'stored' | 'live';
  progress(words: string): void;
  signal: AbortSignal;
}

export interface Replayed {
  step: number;
  /** What the trees were drawn with again: `initial`, or the name of a checkpoint, and the SHA-256 of its weights. */
  weights: { checkpoint: string; hash: string };
  tools: ReplayRequest['tools'];
  /** Calls, by who answered them. */
  answers: { stored: number; live: number };
  /** What tools read and is not as it was when the run began, in words; looked at only where tools were asked. */
  changed: string[];
  seconds: number;
  trees: Replay[];
}

/** Rejects with a FailureError where it cannot be done, or was called off. `grown` are the trees that were drawn, in the order of `trees`. */
export async function replay(
  run: Run,
  equipment: Equipment,
  request: ReplayRequest,
): Promise<Replayed & { grown: Grown[] }> {
  const { step, tools, signal, progress } = request;
  const stored = await storedTrees(run, request);
  const weights = await weightsBefore(run, step);
  const started = elapsed();
  progress(`opening ${weightsName(weights.checkpoint)}`);
  const drawn = await drawAll(run, equipment, request, { stored, weights });
  if (signal.aborted) throw calledOff();
  const { grown, hash, answers } = drawn;
  const pieces = drawn.tokenizer.pieces;
  return {
    step,
    weights: { checkpoint: weights.checkpoint, hash },
    tools,
    answers,
    changed: answers.live === 0 ? [] : await changedInputs(run),
    seconds: (elapsed() - started) / 1000,
    trees: stored.map((one, i) => compareReplay(one, grown[i]!, pieces)),
    grown,
  };
}

async function storedTrees(run: Run, { step, tree }: ReplayRequest): Promise<Grown[]> {
  if (tree !== undefined && isCounterfactual(tree))
    throw refusal(`Tree ${tree} is a counterfactual.`, 'Draw it again with `branch` and its seed.');
  const ids = (await run.trees()).filter(entry => entry.step === step).map(({ id }) => id);
  if (ids.length === 0)
    throw refusal(`${run.folder} has no trees of step ${step}.`, 'Name a step whose trees were kept.');
  if (tree !== undefined && !ids.includes(tree))
    throw refusal(`${run.folder} has no tree ${tree} in step ${step}.`, `Name one of ${ids.join(', ')}.`);
  const named = tree === undefined ? ids : [tree];
  return Promise.all(named.map(async id => ({ tree: await run.tree(id), columns: await run.columns(id) })));
}

interface Drawn extends Pick<ReopenedPolicy, 'tokenizer' | 'hash'> {
  grown: Grown[];
  answers: Replayed['answers'];
}

/** All at the same time, as they were drawn. */
const drawAll = (
  run: Run,
  equipment: Equipment,
  { tools: mode, signal, progress }: ReplayRequest,
  { stored, weights }: { stored: readonly Grown[]; weights: Weights },
): Promise<Drawn> =>
  closingAfter(async closers => {
    const { config } = run.manifest;
    const openLive = openedOnce(equipment, mode === 'live' ? uncached(config) : config, closers);
    const tags = mode === 'live' ? (await openLive()).tags : toolTags(config);
    const ownReward = await openReward(config.reward);
    if (ownReward) closers.push(() => ownReward.close());
    // With as many threads as training has; gradients are not needed.
    const opening = { weights, purpose: 'reference', tags, signal } as const;
    const opened = await reopenPolicy(run, equipment, opening, closers);
    const tell = watch(stored, progress);
    const answers = { stored: 0, live: 0 };
    const drawOne = async (one: Grown): Promise<Grown> => {
      const known = mode === 'live' ? [] : one.tree.segments;
      const tools = storedTools(known, tags, openLive);
      const tokenizer = mode === 'live' ? opened.tokenizer : withStoredResults(opened.tokenizer, one);
      const grown = await growAgain(one, { policy: opened.policy, tokenizer, tools, config, tell });
      answers.stored += tools.answered.stored;
      answers.live += tools.answered.live;
      await judgeAsTrained(grown.tree, config, tags, ownReward);
      return grown;
    };
    const grown = await unlessAborted(Promise.all(stored.map(drawOne)), signal, calledOff());
    return { tokenizer: opened.tokenizer, hash: opened.hash, grown, answers };
  });

/** Opens the run's tools when they are first needed, leaving no trace in its recording. */
function openedOnce(
  equipment: Equipment,
  config: Config,
  closers: (() => unknown)[],
): () => Promise<ToolPool> {
  let opening: Promise<ToolPool> | undefined;
  closers.push(async () => {
    // One that did not open has nothing to close; whoever called it was told.
    const [opened] = await Promise.allSettled(opening ? [opening] : []);
    if (opened?.status === 'fulfilled') await opened.value.close();
  });
  return () => (opening ??= equipment.openTools(withoutRecording(config)));
}

/** Kept answers of other runs are no answers of the tools. */
const uncached = (config: Config): Config => ({ ...config, tools: { ...config.tools, cache: '' } });

async function changedInputs({ manifest }: Run): Promise<string[]> {
  const { corpus, cacheFile } = manifest.config.tools.search;
  const inputs = [
    ['corpus', corpus],
    ['searchCache', cacheFile],
  ] as const;
  const changed: string[] = [];
  for (const [name, path] of inputs)
    try {
      if (!(await isInputUnchanged(manifest, name)))
        changed.push(`${path} is not what it was when the run began`);
    } catch (error) {
      // A tool whose file is gone has told the policy so; here it is told to the reader.
      if (!(error instanceof FailureError)) throw error;
      changed.push(error.message.replace(/\.$/, ''));
    }
  return changed;
}

/** Says how many trajectories have ended, from the facts of the trees that grow. */
function watch(stored: readonly Grown[], progress: ReplayRequest['progress']): (fact: Fact) => void {
  const total = stored.reduce((sum, { tree }) => sum + tree.total, 0);
  let ended = 0;
  return fact => {
    if (fact.type !== 'segment-grown' || fact.stop === undefined || fact.stop === 'call') return;
    ended++;
    progress(`drawing: ${ended} of ${total} trajectories ended`);
  };
}

const calledOff = (): FailureError =>
  new FailureError({ where: 'policy', message: 'The replay was called off.' });
