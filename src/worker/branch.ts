/**
 * Grows a counterfactual: a stored trajectory is cut, and a policy goes on from there, with the run's own tools and reward. Learns
 * nothing, and changes nothing that training reads. Knows nothing of command lines.
 */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Config } from '../core/config.ts';
import {
  isCounterfactual,
  prefixOf,
  responseOf,
  takesResult,
  withoutResult,
  withResult,
  type BranchPoint,
  type Counterfactual,
  type Prefix,
} from '../core/counterfactual.ts';
import type { Fact } from '../core/events.ts';
import type { Pieces } from '../core/pieces.ts';
import type { Grown } from '../core/tree.ts';
import { FailureError, type Tree } from '../core/types.ts';
import { listCheckpoints, verifyCheckpoint } from '../run/checkpoint.ts';
import { elapsed, timestamp } from '../run/clock.ts';
import { readCounterfactuals, writeCounterfactual } from '../run/counterfactuals.ts';
import { CHECKPOINT_FILES, FILES, checkpointName } from '../run/layout.ts';
import type { Run } from '../run/reader.ts';
import { closingAfter } from './closing.ts';
import { engineSettings, type Equipment, type RunTokenizer } from './equipment.ts';
import { rewardSettings } from './gather.ts';
import { judgeAll, openReward } from './judges.ts';
import { encodeResult, growFrom } from './rollout.ts';
import type { ToolPool } from './tools/tool.ts';

export interface BranchRequest {
  /** Id of a stored tree. */
  tree: string;
  at: BranchPoint;
  /** Takes the place of the tool's result, or answers the call that stands there. */
  result?: string;
  /** The rollout's where absent; 0 is greedy. */
  temperature?: number;
  /** `initial`, or the name of a checkpoint; the newest where absent. */
  checkpoint?: string;
  samples: number;
  /** Where absent, one that no earlier counterfactual of the tree has. */
  seed?: number;
  versions: Record<string, string>;
  /** Told what is being done, in a few words. */
  progress(words: string): void;
  signal: AbortSignal;
}

/** Grows, judges and stores it. Rejects with a FailureError, and stores nothing, where it cannot be done or was called off. */
export async function branch(
  run: Run,
  equipment: Equipment,
  request: BranchRequest,
): Promise<Counterfactual> {
  const { tree: id, at, signal, versions, progress } = request;
  if (isCounterfactual(id))
    throw refusal(`Tree ${id} is a counterfactual itself.`, 'Branch from the tree that it left.');
  const stored = { tree: await run.tree(id), columns: await run.columns(id) };
  const cut = prefixOf(stored, at);
  if (request.result !== undefined && !takesResult(cut)) throw noResult(request);
  const weights = await weightsOf(run, request.checkpoint);
  progress(`opening ${weights.checkpoint === 'initial' ? 'the initial policy' : weights.checkpoint}`);
  const started = elapsed();
  const grown = await growCut(run, equipment, request, { tree: stored.tree, cut, weights });
  if (signal.aborted) throw calledOff();
  const { tree, columns, prefix, temperature, seed, hash } = grown;
  const told: Omit<Counterfactual, 'id' | 'trained'> = {
    at: timestamp(),
    of: { tree: id, ...at },
    prefix,
    weights: { checkpoint: weights.checkpoint, step: weights.step, hash },
    temperature,
    seed,
    seconds: (elapsed() - started) / 1000,
    versions,
    tree,
  };
  if (request.result !== undefined) told.result = 'edited';
  else if (cut.call) told.result = 'called again';
  return writeCounterfactual(run.folder, told, columns);
}

/** Opens engine, tools and reward, goes on from the cut, judges, and closes them again. */
const growCut = (
  run: Run,
  equipment: Equipment,
  request: BranchRequest,
  { tree, cut, weights }: { tree: Tree; cut: Prefix; weights: Weights },
): Promise<Grown & { prefix: number; temperature: number; seed: number; hash: string }> =>
  closingAfter(async closers => {
    const { config } = run.manifest;
    const { folder } = weights;
    const tokenizer = await equipment.openTokenizer(folder);
    mustMean(await run.pieces(), tokenizer.pieces, folder);
    const tools = await equipment.openTools(withoutRecording(config));
    closers.push(() => tools.close());
    const ownReward = await openReward(config.reward);
    if (ownReward) closers.push(() => ownReward.close());
    const settings = engineSettings(config, 'evaluation', { folder, tokenizer, tags: tools.tags });
    const { policy, info } = await equipment.openPolicy(settings);
    closers.push(() => policy.close());
    const prefix = await completed(cut, request, { tokenizer, tools, config });
    const { at, samples, signal } = request;
    const temperature = request.temperature ?? config.rollout.temperature;
    const seed = request.seed ?? freshSeed(run.folder, tree.id, config.seed);
    // Random numbers go by the place and the seed alone, so that an edit, or other weights, are compared by pairs.
    const id = `counterfactual.${tree.id}.${at.path}.${at.segment}.${at.token ?? 'end'}`;
    const context = {
      policy,
      tokenizer,
      tools,
      config,
      step: tree.step,
      index: 0,
      id,
      seed,
      tell: watch(request, prefix.segments.length),
    };
    const growing = growFrom(prefix, tree.task, context, { samples, temperature });
    const one = await Promise.race([growing, aborted(signal)]);
    forgetMixedScores(one, prefix);
    const [failure] = await judgeAll(one.tree, { ...rewardSettings(config), tools: tools.tags }, ownReward);
    if (failure) throw new FailureError(failure);
    return { ...one, prefix: prefix.segments.length, temperature, seed, hash: info.weightsHash };
  });

/** The prefix with the result that was given, or that the tool gives when it is called again. */
async function completed(
  cut: Prefix,
  { result, progress }: BranchRequest,
  { tokenizer, tools, config }: { tokenizer: RunTokenizer; tools: ToolPool; config: Config },
): Promise<Prefix> {
  const room = (prefix: Prefix): number => config.rollout.maxResponseTokens - responseOf(prefix);
  if (result !== undefined) {
    const before = withoutResult(cut);
    const replaced = cut.call ? undefined : cut.segments.at(-1)?.call;
    // A message that a limit was reached is no call, whatever it says.
    const outcome = replaced?.outcome === 'refused' ? replaced.outcome : 'ok';
    const encoded = encodeResult(tokenizer, result, room(before));
    return withResult(before, { ...encoded, outcome, latencyMs: 0, shared: false });
  }
  if (!cut.call) return cut;
  const { tool, argument } = cut.call;
  if (!tools.tags.includes(tool))
    throw refusal(`The run’s config has no tool ${tool} any more.`, 'Give its result (--tool-result).');
  progress(`calling ${tool}`);
  const { text, outcome, latencyMs, shared } = await tools.call(tool, argument);
  return withResult(cut, { ...encodeResult(tokenizer, text, room(cut)), outcome, latencyMs, shared });
}

/** Weights to go on with. */
interface Weights {
  /** `initial`, or the name of a checkpoint. */
  checkpoint: string;
  step: number;
  /** In Hugging Face layout. */
  folder: string;
}

/** Those that are named, or the newest that are whole; the policy that the run began with where it has none. */
async function weightsOf({ folder, manifest }: Run, named: string | undefined): Promise<Weights> {
  if (named === 'initial') return initialWeights(manifest.config.policy.path, '');
  const all = listCheckpoints(folder).map(name => basename(name));
  if (named !== undefined) {
    const name = /^\d+$/.test(named.replace(/^step-/, ''))
      ? checkpointName(Number(named.replace(/^step-/, '')))
      : named;
    if (!all.includes(name))
      throw refusal(`${folder} has no checkpoint ${name}.`, `Name ${[...all, 'initial'].join(', ')}.`);
    return checkpointWeights(folder, name);
  }
  const passed: string[] = [];
  for (const name of all.toReversed())
    try {
      return await checkpointWeights(folder, name);
    } catch (error) {
      if (!(error instanceof FailureError)) throw error;
      passed.push(error.message);
    }
  return initialWeights(manifest.config.policy.path, passed.join(' '));
}

/** Its optimiser's state may be gone: only the weights are needed. */
async function checkpointWeights(runFolder: string, name: string): Promise<Weights> {
  const folder = join(runFolder, FILES.checkpoints, name);
  try {
    const { state } = await verifyCheckpoint(folder, [CHECKPOINT_FILES.optimizer]);
    return { checkpoint: name, step: state.step, folder };
  } catch (error) {
    if (!(error instanceof FailureError)) throw error;
    throw new FailureError({ ...error.failure, message: `${folder}: ${error.message}` });
  }
}

function initialWeights(folder: string, passed: string): Weights {
  if (existsSync(folder)) return { checkpoint: 'initial', step: 0, folder };
  const why =
    passed === '' ? 'The run has no checkpoint' : `No checkpoint of the run can be used (${passed})`;
  throw refusal(
    `${why}, and the policy that it began with is not at ${folder} any more.`,
    'Put the policy back, or branch in a run that keeps a checkpoint.',
  );
}

/** Stored ids are text only by the run's own vocabulary. */
function mustMean(stored: Pieces | undefined, now: Pieces, folder: string): void {
  const isSame =
    stored === undefined ||
    (Buffer.compare(stored.bytes, now.bytes) === 0 &&
      stored.offsets.length === now.offsets.length &&
      stored.offsets.every((offset, i) => offset === now.offsets[i]));
  if (isSame) return;
  throw refusal(
    `The tokenizer in ${folder} is not the one that the run’s tokens were drawn with.`,
    'Put the policy’s folder back as it was when the run began.',
  );
}

/** A recording is what a run can be answered from; what a counterfactual asks has no place in it. */
const withoutRecording = (config: Config): Config =>
  config.tools.cassette.mode === 'replay'
    ? config
    : { ...config, tools: { ...config.tools, cassette: { ...config.tools.cassette, mode: 'off' } } };

function freshSeed(runFolder: string, tree: string, first: number): number {
  const taken = readCounterfactuals(runFolder, tree).counterfactuals.map(({ seed }) => seed);
  return taken.length === 0 ? first : Math.max(...taken) + 1;
}

/** Says how far the samples are, from the facts of the tree that grows behind so many kept segments. */
function watch({ samples, progress }: BranchRequest, kept: number): (fact: Fact) => void {
  let [ended, calls] = [0, 0];
  return fact => {
    if (!('segment' in fact) || fact.segment < kept) return;
    if (fact.type === 'tool-answered') calls++;
    if (fact.type === 'segment-grown' && fact.stop !== undefined && fact.stop !== 'call') ended++;
    progress(`sampling: ${ended} of ${samples} ended, ${calls} tool results`);
  };
}

/** Under rule `upstream` a score is made of truncated sums, which were not stored for the tokens that were kept: such a score is none. */
function forgetMixedScores({ tree }: Grown, { begun, segments }: Prefix): void {
  if (!begun || tree.rule !== 'upstream') return;
  for (const segment of tree.segments.slice(segments.length))
    if (segment.parent === segments.length - 1) delete segment.entropy;
}

/** Rejects when the signal is given, so that nobody waits for what an engine is still computing. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(calledOff());
    signal.addEventListener('abort', () => reject(calledOff()), { once: true });
  });

const calledOff = (): FailureError =>
  new FailureError({ where: 'policy', message: 'The branch was called off; nothing was stored.' });

const noResult = ({ tree, at }: BranchRequest): FailureError =>
  refusal(
    `A tool result cannot be given after segment ${at.segment} of tree ${tree}.`,
    'Name the segment of a tool’s result, or a turn that ends by a call.',
  );

const refusal = (message: string, fix: string): FailureError =>
  new FailureError({ where: 'config', message, fix });
