/**
 * Rollouts that prime-rl's orchestrator writes, in a folder `rollouts/step_<n>` per step: `train_rollouts.jsonl` with a row per rollout
 * (verifiers 0.x: `prompt`, `completion`, `reward`; later a graph of messages: `nodes`, `rewards`), then
 * `train/effective/traces.jsonl`, of graphs or of episodes that hold several; each may be compressed.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Reward, StopReason } from '../../core/types.ts';
import { COMPRESSIONS } from './compressed.ts';
import {
  answersIn,
  aside,
  type Format,
  isRecord,
  lacks,
  numberOf,
  type Row,
  type StepFile,
} from './format.ts';
import type { Piece, Sample } from './sample.ts';

const STEP = /^step_(\d+)$/;
/** The newest first: what went into the step's batch, else all that was made. */
const NAMES = [
  join('train', 'effective', 'traces.jsonl'),
  join('train', 'all', 'traces.jsonl'),
  'train_rollouts.jsonl',
].flatMap(name => [name, ...COMPRESSIONS.map(compression => name + compression)]);

export const PRIME_RL: Format = {
  source: 'prime-rl',
  filesIn: folder => {
    const inner = join(folder, 'rollouts');
    return stepsIn(basename(folder) !== 'rollouts' && existsSync(inner) ? inner : folder);
  },
  begins: head => /^\s*\{/.test(head),
  samplesOf: row =>
    Array.isArray(row.traces)
      ? row.traces.map(trace => graphSample(trace, row))
      : [isGraph(row) ? graphSample(row) : flatSample(row)],
};

function stepsIn(folder: string): StepFile[] {
  return readdirSync(folder)
    .flatMap((name): StepFile[] => {
      const step = STEP.exec(name)?.[1];
      if (step === undefined) return [];
      const path = NAMES.map(file => join(folder, name, file)).find(existsSync);
      return path === undefined ? [] : [{ step: Number(step), path }];
    })
    .sort((a, b) => a.step - b.step);
}

const isFlat = (row: Row): boolean => 'prompt' in row && 'completion' in row && 'reward' in row;
const isGraph = (row: Row): boolean => Array.isArray(row.nodes) && 'rewards' in row;

interface Said {
  role: string;
  text: string;
  calls: { id: string; tool: string; argument: string }[];
  /** Id of the call that it answers. */
  answers?: string;
  tokens?: number;
}

function flatSample(row: Row): Sample {
  if (!isFlat(row)) throw lacks('has neither "prompt", "completion" and "reward" nor "nodes" and "rewards"');
  const prompt = saidIn(row.prompt, 'user');
  const total = numberOf(row.reward);
  const named = isRecord(row.metrics) ? numbersIn(row.metrics) : {};
  const env = typeof row.task === 'string' ? row.task : typeof row.env_name === 'string' ? row.env_name : '';
  const { example_id: example } = row;
  const text = promptText(prompt);
  return {
    group: typeof example === 'number' || typeof example === 'string' ? `${env} ${example}` : text,
    prompt: { text },
    question: questionOf(prompt),
    references: answersIn(row.answer),
    ability: env,
    pieces: piecesOf(saidIn(row.completion, 'assistant')),
    ...(total !== undefined && {
      reward: rewardOf(total, named, aside(row, FLAT)),
    }),
    ...stopOf(row.is_truncated === true, row.is_completed === true),
  };
}

/** Fields that are shown elsewhere, or that hold too much. */
const FLAT = [
  'prompt',
  'completion',
  'reward',
  'metrics',
  'task',
  'answer',
  'trajectory',
  'timing',
  'tool_defs',
  'oai_tools',
];

/** One trace of a graph of messages; an episode tells the group. */
function graphSample(trace: unknown, episode?: Row): Sample {
  if (!isRecord(trace) || !isGraph(trace)) throw lacks('has a trace without "nodes" and "rewards"');
  const nodes = trace.nodes as unknown[];
  const said = lastBranch(nodes);
  const begun = said.findIndex(({ role }) => role === 'assistant');
  const prompt = said.slice(0, begun < 0 ? said.length : begun);
  const { total, parts } = weighted(isRecord(trace.rewards) ? trace.rewards : {});
  const metrics = isRecord(trace.metrics) ? numbersIn(trace.metrics) : {};
  const left = nodes.length - said.length;
  const more = left > 0 ? ` ${left} of its messages lie on other branches and are not shown.` : '';
  const text = promptText(prompt);
  const group = isRecord(episode?.group) ? episode.group.id : undefined;
  const tokens = sumOf(prompt);
  const env = isRecord(trace.info)
    ? (trace.info.env_name ?? (isRecord(trace.info.prime_rl) && trace.info.prime_rl.env_name))
    : '';
  return {
    group: typeof group === 'string' ? group : text,
    prompt: { text, ...(tokens !== undefined && { tokens }) },
    question: questionOf(prompt),
    references: isRecord(trace.task) ? referencesOf(trace.task) : [],
    ability: typeof env === 'string' ? env : '',
    pieces: piecesOf(said.slice(prompt.length)),
    ...(total !== undefined && { reward: rewardOf(total, { ...metrics, ...parts }, more) }),
    ...stopOf(isCut(trace), typeof trace.stop_condition === 'string'),
  };
}

const referencesOf = (task: Row): string[] => {
  const data = isRecord(task.data) ? task.data : task;
  return answersIn(data.answer ?? data.answers ?? data.ground_truth);
};

/** The messages from the root to the last one of the first tree: later roots are of helpers. */
function lastBranch(nodes: readonly unknown[]): Said[] {
  const parents = nodes.map(node => (isRecord(node) && typeof node.parent === 'number' ? node.parent : -1));
  const rootOf = (index: number): number => {
    let at = index;
    // A parent that does not come before its child would never end.
    while (parents[at]! >= 0 && parents[at]! < at) at = parents[at]!;
    return at;
  };
  const leaf = nodes.findLastIndex((_, index) => rootOf(index) === 0);
  const walked: Said[] = [];
  for (let at = leaf; at >= 0; at = parents[at]! < at ? parents[at]! : -1) {
    const node = nodes[at];
    if (isRecord(node)) walked.push(saidOf(node.message, 'user', node.token_ids));
  }
  return walked.reverse();
}

/** Σ score × weight, and each addend; nothing where no reward was given. */
function weighted(rewards: Row): { total?: number; parts: Record<string, number> } {
  const parts: Record<string, number> = {};
  for (const [name, reward] of Object.entries(rewards)) {
    const weight = isRecord(reward) ? (numberOf(reward.weight) ?? 1) : 1;
    const score = numberOf(isRecord(reward) ? reward.score : reward);
    if (score !== undefined) parts[name] = score * weight;
  }
  const all = Object.values(parts);
  return { parts, ...(all.length > 0 && { total: all.reduce((sum, part) => sum + part, 0) }) };
}

const numbersIn = (values: Row): Record<string, number> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const number = numberOf(value);
      return number === undefined ? [] : [[name, number]];
    }),
  );

function rewardOf(total: number, parts: Record<string, number>, more: string): Reward {
  const correct = total >= 1;
  const why = `prime-rl rewarded it with ${total}; it counts as ${correct ? 'right' : 'wrong'} because that is ${correct ? '' : 'not '}1 or more.`;
  return { total, parts, correct, reason: why + more };
}

const LIMITS = ['max_turns', 'max_input_tokens', 'max_output_tokens', 'max_total_tokens'];
const isCut = ({ stop_condition: stop, is_truncated: cut }: Row): boolean =>
  cut === true || (typeof stop === 'string' && LIMITS.includes(stop));

const stopOf = (isCutOff: boolean, isDone: boolean): { stop?: StopReason } =>
  isCutOff ? { stop: 'length' } : isDone ? { stop: 'answer' } : {};

/** Messages of a list, or a text as one of them. */
const saidIn = (value: unknown, role: string): Said[] =>
  Array.isArray(value) ? value.map(message => saidOf(message, role)) : [saidOf(value, role)];

function saidOf(message: unknown, role: string, ids?: unknown): Said {
  const tokens = Array.isArray(ids) ? { tokens: ids.length } : {};
  if (!isRecord(message)) return { role, text: textOf(message), calls: [], ...tokens };
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.flatMap(callOf) : [];
  const thought = textOf(message.reasoning_content);
  const written = calls.map(({ tool, argument }) => `<tool_call>\n${tool}(${argument})\n</tool_call>`);
  return {
    role: typeof message.role === 'string' ? message.role : role,
    text: [thought && `<think>\n${thought}\n</think>`, textOf(message.content), ...written]
      .filter(Boolean)
      .join('\n'),
    calls,
    ...(typeof message.tool_call_id === 'string' && { answers: message.tool_call_id }),
    ...tokens,
  };
}

function callOf(call: unknown): Said['calls'] {
  // Some writers keep each call as a text of JSON.
  const value: unknown = typeof call === 'string' ? parsed(call) : call;
  if (!isRecord(value)) return [];
  const asked = isRecord(value.function) ? value.function : value;
  const argument =
    typeof asked.arguments === 'string' ? asked.arguments : JSON.stringify(asked.arguments ?? '');
  const id = typeof value.id === 'string' ? value.id : '';
  return typeof asked.name === 'string' ? [{ id, tool: asked.name, argument }] : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What is no JSON tells no call; its text is shown with the message.
    return undefined;
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content))
    return content.map(part => (isRecord(part) ? textOf(part.text) : textOf(part))).join('');
  return '';
}

const promptText = (prompt: readonly Said[]): string =>
  prompt.length === 1 ? prompt[0]!.text : prompt.map(({ role, text }) => `${role}\n${text}`).join('\n');

const questionOf = (prompt: readonly Said[]): string =>
  (prompt.findLast(({ role }) => role === 'user') ?? prompt.at(-1))?.text ?? '';

const sumOf = (said: readonly Said[]): number | undefined =>
  said.length === 0 || said.some(({ tokens }) => tokens === undefined)
    ? undefined
    : said.reduce((sum, { tokens }) => sum + tokens!, 0);

/** The policy wrote what an assistant said; all else came from its environment. */
function piecesOf(said: readonly Said[]): Piece[] {
  const open: Said['calls'] = [];
  return said.map(({ role, text, calls, answers, tokens }): Piece => {
    const counted = tokens === undefined ? {} : { tokens };
    if (role === 'assistant') {
      open.splice(0, open.length, ...calls);
      return { kind: 'model', text, ...counted };
    }
    const index = answers === undefined ? 0 : open.findIndex(({ id }) => id === answers);
    const [call] = role === 'tool' && index >= 0 ? open.splice(index, 1) : [];
    return {
      kind: 'tool',
      text,
      ...counted,
      ...(call && { asked: { tool: call.tool, argument: call.argument } }),
    };
  });
}
