/**
 * Grows one tree from a task: does what the scheduler plans, with a policy and tools, and tells each fact as it happens.
 * Knows nothing of rewards, learning, files, or of the other trees of its step.
 */
import { prefixOf, type Prefix } from '../core/counterfactual.ts';
import { entropyOf, TOP_LOG_PROBS } from '../core/entropy.ts';
import type { Fact } from '../core/events.ts';
import { streamKey, uniform } from '../core/random.ts';
import * as scheduler from '../core/scheduler.ts';
import { callArgument, limitText, resultText, tagOf } from '../core/tags.ts';
import type { Grown } from '../core/tree.ts';
import {
  FailureError,
  type Failure,
  type Segment,
  type Task,
  type TaskSummary,
  type ToolCall,
} from '../core/types.ts';
import { toFailure } from '../protocol/channel.ts';
import {
  addTokens,
  ancestry,
  begin,
  beginFrom,
  finish,
  pathText,
  summaryOf,
  textOf,
  windowOf,
  type Drawing,
  type GrowContext,
  type Growing,
} from './growing.ts';
import type { Sample } from './policy/policy.ts';
import type { PooledResult } from './tools/tool.ts';

export type { GrowContext, RolloutTokenizer } from './growing.ts';

/** Grows a group of trajectories. Rejects where the policy or the prompt fails; a tool that fails is part of the tree. */
export const grow = async (task: Task, context: GrowContext): Promise<Grown> =>
  growToEnd(summaryOf(task), begin(task, context));

async function growToEnd(task: TaskSummary, growing: Growing): Promise<Grown> {
  const { policy } = growing.context;
  tellSegments(growing, 0);
  for (;;) {
    const plan = scheduler.plan(growing.growth);
    if (plan.phase === 'done') break;
    advance(growing, await carryOut(growing, plan));
  }
  await fromPolicy(() => policy.forget(`${growing.id}/`));
  return finish(task, growing);
}

/** How many trajectories are drawn without branching; temperature 0 is greedy. */
export interface Samples {
  samples: number;
  temperature: number;
}

/** The same without branching: so many trajectories from the prompt, for evaluation. */
export const growSamples = (task: Task, context: GrowContext, samples: Samples): Promise<Grown> =>
  grow(task, plainly(context, samples));

/** So many trajectories that go on from a stored prefix, without branching. */
export const growFrom = async (
  prefix: Prefix,
  task: TaskSummary,
  context: GrowContext,
  samples: Samples,
): Promise<Grown> => growToEnd(task, beginFrom(prefix, plainly(context, samples)));

/** A stored tree from its prompt on, with the streams that it was drawn with; the split that a probe decided is taken from it. */
export function growAgain(
  stored: Grown,
  context: Omit<GrowContext, 'step' | 'index' | 'id'>,
): Promise<Grown> {
  const { id, step, task, initial, total } = stored.tree;
  const rollout = { ...context.config.rollout, initialRollouts: initial, groupSize: total };
  const config = { ...context.config, rollout };
  const prompt = prefixOf(stored, { path: 0, segment: 0 });
  return growToEnd(task, beginFrom(prompt, { ...context, config, id, step, index: 0 }));
}

const plainly = (context: GrowContext, { samples, temperature }: Samples): GrowContext => {
  const rollout = { ...context.config.rollout, initialRollouts: samples, groupSize: samples, temperature };
  // Nobody reads what evaluations and counterfactuals could have said instead.
  const record = { ...context.config.record, alternatives: 0 };
  return { ...context, config: { ...context.config, rollout, record } };
};

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
    alternatives: [],
  });
  const wanted = maxTokens - drawing.ids.length;
  if (drawing.end || wanted <= 0) return;
  const { alternatives } = context.config.record;
  const stretch = `${id}/${key}/turn ${turns}${drawing.ids.length > 0 ? ' rest' : ''}`;
  const sample = await fromPolicy(() =>
    context.policy.sample({
      path: [...ancestry(growing, segment), ...drawing.stretches],
      key: stretch,
      maxTokens: wanted,
      temperature: context.config.rollout.temperature,
      stream: streamKey(growing.seed, 'sample', id, key, turns),
      streamOffset: drawing.ids.length,
      topLogProbs: growth.rules.rule === 'upstream' ? TOP_LOG_PROBS : 0,
      ...(alternatives > 0 && { alternatives }),
    }),
  );
  record(drawing, sample, stretch);
}

/** What the policy answers; whatever goes wrong in it is told as the policy's. */
export async function fromPolicy<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw new FailureError(ofPolicy(error));
  }
}

/** Errors without a place of their own arrive from an engine's process as bugs. */
function ofPolicy(error: unknown): Failure {
  const failure = toFailure(error, 'policy');
  return failure.where === 'bug' ? { ...failure, where: 'policy' } : failure;
}

function record(drawing: Drawing, sample: Sample, key: string): void {
  if (sample.ids.length === 0)
    throw new FailureError({ where: 'policy', message: 'The policy was asked for tokens and drew none.' });
  drawing.stretches.push({ key, ids: sample.ids });
  drawing.ids.push(...sample.ids);
  drawing.logProbs.push(...sample.logProbs);
  drawing.entropies.push(...sample.entropies);
  drawing.scored.push(...(sample.topLogProbs ? sample.topLogProbs.map(entropyOf) : sample.entropies));
  if (sample.alternatives) drawing.alternatives.push(sample.alternatives);
  if (sample.finish === 'end') drawing.end = {};
  if (sample.finish === 'stop') drawing.end = { stop: sample.stop ?? '' };
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

/** Calls a tool and encodes what it says, cut to the room that the path has left. */
async function answer(
  growing: Growing,
  { path, room, ...asked }: scheduler.Call & { path: number; room: number },
): Promise<scheduler.Answer> {
  const { tool, argument } = asked;
  const { text: said, outcome, latencyMs, shared } = await resultOf(growing.context.tools, asked);
  const { ids, text } = encodeResult(growing.context.tokenizer, said, room);
  growing.results[path] = ids;
  const call: ToolCall = { tool, argument, outcome, latencyMs, shared };
  return { path, tokens: ids.length, text, call };
}

/** A tool's words as a path reads them: in their tags, and cut to so many tokens. */
export function encodeResult(
  tokenizer: GrowContext['tokenizer'],
  said: string,
  room: number,
): { ids: Int32Array; text: string } {
  const whole = Int32Array.from(tokenizer.encode(resultText(said)));
  const ids = whole.slice(0, room);
  return { ids, text: ids.length < whole.length ? tokenizer.decode(ids) : resultText(said) };
}

/** What the tool says, or that it may not be asked any more. */
const resultOf = (
  tools: GrowContext['tools'],
  { tool, argument, limit }: scheduler.Call,
): Promise<PooledResult> =>
  limit === undefined
    ? tools.call(tool, argument)
    : Promise.resolve({ outcome: 'refused', text: limitText(tool, limit), latencyMs: 0, shared: false });

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
