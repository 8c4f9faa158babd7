/**
 * Grows one tree from a task: does what the scheduler plans, with a policy and tools, and tells each fact as it happens.
 * Knows nothing of rewards, learning, files, or of the other trees of its step.
 */
import type { Config } from '../core/config.ts';
import { entropyForm, entropyOf, entropyScore, TOP_LOG_PROBS, type EntropyForm } from '../core/entropy.ts';
import type { Fact } from '../core/events.ts';
import { streamKey, uniform } from '../core/random.ts';
import * as scheduler from '../core/scheduler.ts';
import { callArgument, resultText, tagOf } from '../core/tags.ts';
import type { Grown } from '../core/tree.ts';
import {
  FailureError,
  type Message,
  type Segment,
  type Task,
  type ToolCall,
  type Tree,
} from '../core/types.ts';
import type { Policy, Sample, Stretch } from './policy/policy.ts';
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

/** Grows a group of trajectories. Rejects where the policy or the prompt fails; a tool that fails is part of the tree. */
export async function grow(task: Task, context: GrowContext): Promise<Grown> {
  const growing = begin(task, context);
  try {
    tellSegments(growing, 0);
    for (
      let plan = scheduler.plan(growing.growth);
      plan.phase !== 'done';
      plan = scheduler.plan(growing.growth)
    )
      advance(growing, await carryOut(growing, plan));
  } finally {
    await context.policy.forget(`${growing.id}/`);
  }
  return finish(task, growing);
}

/** The same without branching: so many trajectories from the prompt, for evaluation. Temperature 0 is greedy. */
export const growSamples = (
  task: Task,
  context: GrowContext,
  { samples, temperature }: { samples: number; temperature: number },
): Promise<Grown> => {
  const rollout = { ...context.config.rollout, initialRollouts: samples, groupSize: samples, temperature };
  return grow(task, { ...context, config: { ...context.config, rollout } });
};

/** A tree that grows: what the scheduler knows of it, and its tokens. */
interface Growing {
  id: string;
  seed: number;
  context: GrowContext;
  form: EntropyForm;
  growth: scheduler.Growth;
  /** [token] in segment order. */
  ids: number[];
  logProbs: number[];
  entropies: number[];
  /** [segment] its tokens under the keys that the policy may find them by; a turn with a preview has two. */
  stretches: Stretch[][];
  /** [path] tokens that the path's own turns have drawn, so that each draw has its own random number. */
  drawn: number[];
  /** [path] the turn that is being drawn. */
  turns: (Drawing | undefined)[];
  /** [path] the result that waits to become a segment. */
  results: (Int32Array | undefined)[];
}

/** One turn as drawn so far. */
interface Drawing {
  stretches: Stretch[];
  ids: number[];
  logProbs: number[];
  entropies: number[];
  /** [token] what the entropy score is made of. */
  scored: number[];
  /** Absent while more may be drawn. */
  end?: { stop?: string };
}

function begin(task: Task, context: GrowContext): Growing {
  const { config, tokenizer, step, index } = context;
  const { rollout, tools } = config;
  const id = context.id ?? `${step}.${index}`;
  const prompt = Int32Array.from(tokenizer.encodePrompt(task.messages));
  if (prompt.length === 0 || prompt.length > rollout.maxPromptTokens)
    throw new FailureError({
      where: 'config',
      message: `The prompt of task ${task.id} has ${prompt.length} tokens; rollout.maxPromptTokens allows 1 to ${rollout.maxPromptTokens}.`,
      fix: 'Raise rollout.maxPromptTokens, or leave the task out.',
    });
  const rules: scheduler.GrowthRules = {
    rule: rollout.rule,
    gate: rollout.gate,
    branchProbability: rollout.branchProbability,
    entropyWeight: rollout.entropyWeight,
    threshold: rollout.threshold,
    initial: rollout.initialRollouts,
    total: rollout.groupSize,
    beamSize: rollout.beamSize,
    window: rollout.entropyTokens,
    callLimit: tools.callLimit,
    maxResponseTokens: rollout.maxResponseTokens,
    maxTurnTokens: rollout.maxTurnTokens,
  };
  return {
    id,
    seed: context.seed ?? config.seed,
    context,
    form: entropyForm(rollout.rule, rollout.entropyTokens, tokenizer.vocabularySize),
    growth: scheduler.plant(rules, { tokens: prompt.length, text: tokenizer.decode(prompt) }),
    ids: [...prompt],
    logProbs: new Array<number>(prompt.length).fill(NaN),
    entropies: new Array<number>(prompt.length).fill(NaN),
    stretches: [[{ key: `${id}/prompt`, ids: prompt }]],
    drawn: [],
    turns: [],
    results: [],
  };
}

/** Does all items of a plan at the same time. */
async function carryOut(
  growing: Growing,
  plan: Exclude<scheduler.Plan, { phase: 'done' }>,
): Promise<scheduler.Report> {
  switch (plan.phase) {
    case 'preview': {
      await Promise.all(plan.samples.map(({ path, maxTokens }) => draw(growing, path, maxTokens)));
      return {
        phase: 'preview',
        windows: plan.samples.map(({ path }) => ({ path, window: windowOf(growing, path) })),
      };
    }
    case 'turn': {
      await Promise.all(plan.samples.map(({ path, maxTokens }) => draw(growing, path, maxTokens)));
      return { phase: 'turn', turns: plan.samples.map(({ path }) => turnOf(growing, path)) };
    }
    case 'call':
      return { phase: 'call', answers: await Promise.all(plan.calls.map(call => answer(growing, call))) };
  }
}

/** Draws a path's turn until it ends or has so many tokens; a preview's tokens count and are not drawn again. */
async function draw(growing: Growing, path: number, maxTokens: number): Promise<void> {
  const { context, growth, id } = growing;
  const { key, segment, turns } = growth.tips[path]!;
  const drawing = (growing.turns[path] ??= {
    stretches: [],
    ids: [],
    logProbs: [],
    entropies: [],
    scored: [],
  });
  const wanted = maxTokens - drawing.ids.length;
  if (drawing.end || wanted <= 0) return;
  const stretch = `${id}/${key}/turn ${turns}${drawing.ids.length > 0 ? ' rest' : ''}`;
  const sample = await context.policy.sample({
    path: [...ancestry(growing, segment), ...drawing.stretches],
    key: stretch,
    maxTokens: wanted,
    temperature: context.config.rollout.temperature,
    stream: streamKey(growing.seed, 'sample', id, key),
    streamOffset: (growing.drawn[path] ?? 0) + drawing.ids.length,
    topLogProbs: growth.rules.rule === 'upstream' ? TOP_LOG_PROBS : 0,
  });
  record(drawing, sample, stretch);
}

function record(drawing: Drawing, sample: Sample, key: string): void {
  if (sample.ids.length === 0)
    throw new FailureError({ where: 'policy', message: 'The policy was asked for tokens and drew none.' });
  drawing.stretches.push({ key, ids: sample.ids });
  drawing.ids.push(...sample.ids);
  drawing.logProbs.push(...sample.logProbs);
  drawing.entropies.push(...sample.entropies);
  drawing.scored.push(...(sample.topLogProbs ? sample.topLogProbs.map(entropyOf) : sample.entropies));
  if (sample.finish === 'end') drawing.end = {};
  if (sample.finish === 'stop') drawing.end = { stop: sample.stop ?? '' };
}

/** Stretches from the prompt to a segment. */
function ancestry({ growth, stretches }: Growing, segment: number): Stretch[] {
  const path: Stretch[][] = [];
  for (let at = segment; at >= 0; at = growth.segments[at]!.parent) path.push(stretches[at]!);
  return path.reverse().flat();
}

function windowOf({ form, turns }: Growing, path: number): scheduler.Window {
  const { scored } = turns[path]!;
  return { entropy: entropyScore(scored, form), tokens: Math.min(form.window, scored.length) };
}

function turnOf(growing: Growing, path: number): scheduler.Turn {
  const { ids, end } = growing.turns[path]!;
  const text = textOf(growing, ids);
  const turn = { path, tokens: ids.length, text, window: windowOf(growing, path) };
  if (!end) return { ...turn, end: { type: 'length' } };
  if (end.stop === undefined) return { ...turn, end: { type: 'answer' } };
  const tool = tagOf(end.stop);
  const isUpstream = growing.growth.rules.rule === 'upstream';
  const said = isUpstream ? pathText(growing, growing.growth.tips[path]!.segment) + text : text;
  return { ...turn, end: { type: 'call', tool, argument: callArgument(said, tool) } };
}

const textOf = ({ context: { tokenizer } }: Growing, ids: readonly number[]): string =>
  tokenizer.decode(ids.filter(id => !tokenizer.endIds.includes(id)));

function pathText({ growth }: Growing, segment: number): string {
  let text = '';
  for (let at = segment; at >= 0; at = growth.segments[at]!.parent) text = growth.segments[at]!.text + text;
  return text;
}

/** Calls a tool and encodes what it says, cut to the room that the path has left. */
async function answer(
  growing: Growing,
  { path, tool, argument, room }: { path: number; tool: string; argument: string; room: number },
): Promise<scheduler.Answer> {
  const { tokenizer, tools } = growing.context;
  const { text, outcome, latencyMs, shared } = await tools.call(tool, argument);
  const whole = Int32Array.from(tokenizer.encode(resultText(text)));
  const ids = whole.slice(0, room);
  growing.results[path] = ids;
  const call: ToolCall = { tool, argument, outcome, latencyMs, shared };
  return {
    path,
    tokens: ids.length,
    text: ids.length < whole.length ? tokenizer.decode(ids) : resultText(text),
    call,
  };
}

/** Takes a report in: the scheduler's new segments get their tokens, and what is new is told. */
function advance(growing: Growing, report: scheduler.Report): void {
  const { segments, decisions } = growing.growth;
  growing.growth = scheduler.apply(growing.growth, report, (key, turn, attempt) =>
    uniform(streamKey(growing.seed, 'branch', growing.id, key, turn), attempt),
  );
  for (let segment = segments.length; segment < growing.growth.segments.length; segment++)
    addTokens(growing, segment);
  tellSegments(growing, segments.length);
  for (const decision of growing.growth.decisions.slice(decisions.length))
    growing.context.tell({ type: 'branch-decided', tree: growing.id, decision });
}

/** Moves the tokens that wait for a new segment into the tree's columns. */
function addTokens(growing: Growing, index: number): void {
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
    growing.stretches.push(drawing.stretches);
    growing.drawn[path] = (growing.drawn[path] ?? 0) + count;
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

function tellSegments({ id, growth, context: { tell } }: Growing, first: number): void {
  growth.segments.slice(first).forEach((segment, offset) => {
    const index = first + offset;
    const path = growth.growers[index]!;
    tell(grownFact(id, index, { segment, path, origin: growth.tips[path]!.origin }));
    if (!segment.call) return;
    const { tool, outcome, latencyMs, shared } = segment.call;
    tell({ type: 'tool-answered', tree: id, segment: index, call: { tool, outcome, latencyMs, shared } });
  });
}

function grownFact(
  tree: string,
  index: number,
  { segment, path, origin }: { segment: Segment; path: number; origin: scheduler.Tip['origin'] },
): Fact {
  const { parent, kind, count, turn, entropy, stop } = segment;
  const scored = { ...(entropy !== undefined && { entropy }), ...(stop !== undefined && { stop }) };
  return {
    type: 'segment-grown',
    tree,
    segment: index,
    parent,
    kind,
    tokens: count,
    turn,
    path,
    origin,
    ...scored,
  };
}

function finish(task: Task, growing: Growing): Grown {
  const { growth, ids, logProbs, entropies, context } = growing;
  const { rules } = growth;
  const tree: Tree = {
    id: growing.id,
    step: context.step,
    task: { id: task.id, question: questionOf(task), references: task.references, ability: task.ability },
    rule: rules.rule,
    initial: rules.initial,
    total: rules.total,
    segments: [...growth.segments],
    paths: scheduler.pathsOf(growth),
    decisions: [...growth.decisions],
  };
  const columns = {
    ids: Int32Array.from(ids),
    samplerLogProbs: Float32Array.from(logProbs),
    trainerLogProbs: new Float32Array(ids.length).fill(NaN),
    entropies: Float32Array.from(entropies),
  };
  return { tree, columns };
}

/** What the task asks, for people: its last user message. */
const questionOf = ({ messages }: Task): string =>
  messages.findLast(message => message.role === 'user')?.content ?? messages.at(-1)?.content ?? '';
