/**
 * Grows a counterfactual: a stored trajectory is cut, and a policy goes on from there, with the run's own tools and reward. Learns
 * nothing, and changes nothing that training reads. Knows nothing of command lines.
 */
import type { Config } from '../core/config.ts';
import {
  weightsName,
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
import type { Grown } from '../core/tree.ts';
import { FailureError, type Tree, refusal } from '../core/types.ts';
import { elapsed, timestamp } from '../run/clock.ts';
import { readCounterfactuals, writeCounterfactual } from '../run/counterfactuals.ts';
import { mustBeWritable } from '../run/disk.ts';
import type { Run } from '../run/reader.ts';
import { closingAfter } from './closing.ts';
import type { Equipment, RunTokenizer } from './equipment.ts';
import { openReward } from './judges.ts';
import { judgeAsTrained, reopenPolicy, withoutRecording } from './reopen.ts';
import { encodeResult, growFrom } from './rollout.ts';
import type { ToolPool } from './tools/tool.ts';
import { unlessAborted } from './unlessAborted.ts';
import { weightsOf, type Weights } from './weights.ts';

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
  mustBeWritable(run.folder);
  const weights = await weightsOf(run, request.checkpoint);
  progress(`opening ${weightsName(weights.checkpoint)}`);
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
    const tools = await equipment.openTools(withoutRecording(config));
    closers.push(() => tools.close());
    const ownReward = await openReward(config.reward);
    if (ownReward) closers.push(() => ownReward.close());
    const { at, samples, signal } = request;
    const opened = { weights, purpose: 'evaluation', tags: tools.tags, signal } as const;
    const { policy, tokenizer, hash } = await reopenPolicy(run, equipment, opened, closers);
    const completing = completed(cut, request, { tokenizer, tools, config });
    const prefix = await unlessAborted(completing, signal, calledOff());
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
    const one = await unlessAborted(growing, signal, calledOff());
    forgetMixedScores(one, prefix);
    const judging = judgeAsTrained(one.tree, config, tools.tags, ownReward);
    await unlessAborted(judging, signal, calledOff());
    return { ...one, prefix: prefix.segments.length, temperature, seed, hash };
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

const calledOff = (): FailureError =>
  new FailureError({ where: 'policy', message: 'The branch was called off; nothing was stored.' });

const noResult = ({ tree, at }: BranchRequest): FailureError =>
  refusal(
    `A tool result cannot be given after segment ${at.segment} of tree ${tree}.`,
    'Name the segment of a tool’s result, or a turn that ends by a call.',
  );
