/**
 * A tree while it grows: what the scheduler knows of it, beside the tokens that the scheduler does not know. Knows nothing of
 * how turns are drawn or calls answered.
 */
import type { Config } from '../core/config.ts';
import { responseOf, type Prefix } from '../core/counterfactual.ts';
import { entropyForm, entropyScore, type EntropyForm } from '../core/entropy.ts';
import type { Fact } from '../core/events.ts';
import * as scheduler from '../core/scheduler.ts';
import type { Grown } from '../core/tree.ts';
import {
  FailureError,
  type Alternatives,
  type Message,
  type Task,
  type TaskSummary,
  type TokenColumns,
  type Tree,
} from '../core/types.ts';
import type { Policy, Stretch } from './policy/policy.ts';
import type { ToolPool } from './tools/tool.ts';

/** What growing needs of a tokenizer. Token ids are the truth: text that the policy wrote is never encoded again. */
export interface RolloutTokenizer {
  /** Without special tokens around it. */
  encode(text: string): ArrayLike<number>;
  /** The conversation by the chat template, with the opening of the policy's turn. */
  encodePrompt(messages: readonly Message[]): ArrayLike<number>;
  /** Protocol tags included, whether they are special tokens or not. */
  decode(ids: ArrayLike<number>): string;
  /** Ids that end a sequence; the first one is appended where a trajectory is ended for the policy. */
  readonly endIds: readonly number[];
  /** Entries of the vocabulary, added tokens included. */
  readonly vocabularySize: number;
}

export interface GrowContext {
  policy: Policy;
  tools: ToolPool;
  tokenizer: RolloutTokenizer;
  config: Config;
  step: number;
  /** Index of the task in its step. */
  index: number;
  tell(fact: Fact): void;
  /** Names the tree, its random streams and its cached stretches; `<step>.<index>` where absent. */
  id?: string;
  /** The config's where absent. */
  seed?: number;
}

/** A tree that grows: what the scheduler knows of it, and its tokens. */
export interface Growing {
  id: string;
  seed: number;
  context: GrowContext;
  form: EntropyForm;
  growth: scheduler.Growth;
  /** [token] in segment order. */
  ids: number[];
  logProbs: number[];
  entropies: number[];
  /** [sample] of its drawn tokens in their order; empty where none are recorded. */
  alternatives: Alternatives[];
  /** [segment] its tokens under the keys that the policy may find them by; a turn with a preview has two. */
  stretches: Stretch[][];
  /** [path] the turn that is being drawn. */
  turns: (Drawing | undefined)[];
  /** [path] the result that waits to become a segment. */
  results: (Int32Array | undefined)[];
}

/** One turn as drawn so far. */
export interface Drawing {
  stretches: Stretch[];
  ids: number[];
  logProbs: number[];
  entropies: number[];
  /** [token] what the entropy score is made of. */
  scored: number[];
  /** [sample] */
  alternatives: Alternatives[];
  /** Absent while more may be drawn. */
  end?: { stop?: string };
}

export function begin(task: Task, context: GrowContext): Growing {
  const { config, tokenizer } = context;
  const { rollout } = config;
  const prompt = Int32Array.from(tokenizer.encodePrompt(task.messages));
  if (prompt.length === 0 || prompt.length > rollout.maxPromptTokens)
    throw new FailureError({
      where: 'config',
      message: `The prompt of task ${task.id} has ${prompt.length} tokens; rollout.maxPromptTokens allows 1 to ${rollout.maxPromptTokens}.`,
      fix: 'Raise rollout.maxPromptTokens, or leave the task out.',
    });
  const unknown = new Array<number>(prompt.length).fill(NaN);
  const growth = scheduler.plant(rulesOf(config), { tokens: prompt.length, text: tokenizer.decode(prompt) });
  return {
    ...started(context, growth),
    ids: [...prompt],
    logProbs: unknown,
    entropies: [...unknown],
    stretches: [[{ key: `${idOf(context)}/prompt`, ids: prompt }]],
  };
}

/** A tree that goes on from a stored prefix, token for token. Throws a FailureError where no tokens are left to go on with. */
export function beginFrom(prefix: Prefix, context: GrowContext): Growing {
  const rules = rulesOf(context.config);
  const kept = prefix.begun?.ids.length ?? 0;
  const left = rules.maxResponseTokens - responseOf(prefix) - kept;
  const leftOfTurn = rules.maxTurnTokens > 0 ? rules.maxTurnTokens - kept : left;
  if (Math.min(left, leftOfTurn) <= 0)
    throw new FailureError({
      where: 'config',
      message: `No token is left to go on with: the config allows ${left <= 0 ? `${rules.maxResponseTokens} of a response` : `${rules.maxTurnTokens} of a turn`}, and all of them are used.`,
      fix: 'Branch at an earlier place.',
    });
  const id = idOf(context);
  const stretches = prefix.segments.map(({ start, count }, index) => [
    { key: `${id}/kept ${index}`, ids: Int32Array.from(prefix.ids.slice(start, start + count)) },
  ]);
  const { ids, logProbs, entropies, begun, segments } = prefix;
  const drawing = (): Drawing | undefined =>
    begun && {
      stretches: [{ key: `${id}/begun`, ids: Int32Array.from(begun.ids) }],
      ids: [...begun.ids],
      logProbs: [...begun.logProbs],
      entropies: [...begun.entropies],
      scored: [...begun.entropies],
      alternatives: [],
    };
  return {
    ...started(context, scheduler.graft(rules, segments)),
    ids: [...ids],
    logProbs: [...logProbs],
    entropies: [...entropies],
    stretches,
    turns: Array.from({ length: rules.initial }, drawing),
  };
}

const idOf = ({ id, step, index }: GrowContext): string => id ?? `${step}.${index}`;

/** What every tree begins with, whatever it grows from. */
const started = (
  context: GrowContext,
  growth: scheduler.Growth,
): Pick<Growing, 'id' | 'seed' | 'context' | 'form' | 'growth' | 'alternatives' | 'turns' | 'results'> => {
  const { rollout, seed } = context.config;
  return {
    id: idOf(context),
    seed: context.seed ?? seed,
    context,
    form: entropyForm(rollout.rule, rollout.entropyTokens, context.tokenizer.vocabularySize),
    growth,
    alternatives: [],
    turns: [],
    results: [],
  };
};

const rulesOf = ({ rollout, tools, algorithm }: Config): scheduler.GrowthRules => ({
  rule: rollout.rule,
  gate: rollout.gate,
  branchProbability: rollout.branchProbability,
  entropyWeight: rollout.entropyWeight,
  threshold: rollout.threshold,
  penalty: algorithm.branchPenalty,
  penaltyRate: algorithm.penaltyRate,
  initial: rollout.initialRollouts,
  total: rollout.groupSize,
  beamSize: rollout.beamSize,
  window: rollout.entropyTokens,
  callLimit: tools.callLimit,
  toolLimits: tools.limits,
  onLimit: rollout.limitAction === 'inject-limit-message' ? 'message' : 'end',
  maxResponseTokens: rollout.maxResponseTokens,
  maxTurnTokens: rollout.maxTurnTokens,
});

/** Stretches from the prompt to a segment. */
export function ancestry({ growth, stretches }: Growing, segment: number): Stretch[] {
  const path: Stretch[][] = [];
  for (let at = segment; at >= 0; at = growth.segments[at]!.parent) path.push(stretches[at]!);
  return path.reverse().flat();
}

export function windowOf({ form, turns }: Growing, path: number): scheduler.Window {
  const { scored } = turns[path]!;
  return { entropy: entropyScore(scored, form), tokens: Math.min(form.window, scored.length) };
}

export const textOf = ({ context: { tokenizer } }: Growing, ids: readonly number[]): string =>
  tokenizer.decode(ids.filter(id => !tokenizer.endIds.includes(id)));

export function pathText({ growth }: Growing, segment: number): string {
  let text = '';
  for (let at = segment; at >= 0; at = growth.segments[at]!.parent) text = growth.segments[at]!.text + text;
  return text;
}

/** Moves the tokens that wait for a new segment into the tree's columns. */
export function addTokens(growing: Growing, index: number): void {
  const { growth, turns, results, id, context } = growing;
  const { kind, count } = growth.segments[index]!;
  const path = growth.growers[index]!;
  const drawing = turns[path];
  if (kind === 'model') {
    if (!drawing || drawing.ids.length !== count)
      throw new Error(`Segment ${index} of tree ${id} lacks its tokens.`);
    growing.ids.push(...drawing.ids);
    growing.logProbs.push(...drawing.logProbs);
    growing.entropies.push(...drawing.entropies);
    growing.alternatives.push(...drawing.alternatives);
    growing.stretches.push(drawing.stretches);
    turns[path] = undefined;
    return;
  }
  const ids = kind === 'tool' ? results[path] : Int32Array.from(context.tokenizer.endIds.slice(0, 1));
  if (ids?.length !== count) throw new Error(`Segment ${index} of tree ${id} lacks its tokens.`);
  growing.ids.push(...ids);
  growing.logProbs.push(...new Array<number>(count).fill(NaN));
  growing.entropies.push(...new Array<number>(count).fill(NaN));
  growing.stretches.push([{ key: `${id}/${index} ${kind}`, ids }]);
}

export function finish(task: TaskSummary, growing: Growing): Grown {
  const { growth, ids, logProbs, entropies, context } = growing;
  const { rules } = growth;
  const tree: Tree = {
    id: growing.id,
    step: context.step,
    task,
    rule: rules.rule,
    initial: rules.initial,
    total: rules.total,
    segments: [...growth.segments],
    paths: scheduler.pathsOf(growth),
    decisions: [...growth.decisions],
  };
  const columns: TokenColumns = {
    ids: Int32Array.from(ids),
    samplerLogProbs: Float32Array.from(logProbs),
    trainerLogProbs: new Float32Array(ids.length).fill(NaN),
    entropies: Float32Array.from(entropies),
    ...joined(growing.alternatives),
  };
  return { tree, columns };
}

function joined(samples: readonly Alternatives[]): Pick<TokenColumns, 'alternatives'> {
  const k = samples[0]?.k;
  if (k === undefined) return {};
  const ids = Int32Array.from(samples.flatMap(sample => [...sample.ids]));
  const logProbs = Float32Array.from(samples.flatMap(sample => [...sample.logProbs]));
  return { alternatives: { k, ids, logProbs } };
}

/** What a tree keeps of its task; its last user message is what it asks. */
export const summaryOf = ({ id, messages, references, ability }: Task): TaskSummary => {
  const asked = messages.findLast(message => message.role === 'user') ?? messages.at(-1);
  return { id, question: asked?.content ?? '', references, ability };
};
