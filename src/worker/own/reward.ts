/** Asks a program of the user's own for the rewards of trajectories. Knows nothing of how the program runs or of learning. */
import type { RewardConfig } from '../../core/configTools.ts';
import { streamKey } from '../../core/random.ts';
import { responseText, segmentsOf } from '../../core/tree.ts';
import type { Reward, SegmentKind, ToolCall, Tree } from '../../core/types.ts';
import { retrying } from '../retry.ts';
import { openProgram, wordsOf, type Answer } from './program.ts';

/** What the program reads of a trajectory. */
export interface RewardInput {
  question: string;
  references: readonly string[];
  ability: string;
  /** All text after the prompt, tool results included. */
  response: string;
  /** The same in parts, in order. */
  segments: { kind: Exclude<SegmentKind, 'prompt'>; text: string }[];
  calls: (Pick<ToolCall, 'tool' | 'argument' | 'outcome'> & { result: string })[];
  /** True for the trajectory that the program is tried with when it is opened; it belongs to no task. */
  probe?: true;
}

export interface OwnReward {
  readonly label: string;
  /** Rejects where the program gives no reward. */
  ask(tree: Tree, path: number): Promise<Reward>;
  close(): Promise<void>;
}

/** Trajectories that the program is asked for at once. */
const IN_FLIGHT = 8;
const RETRIES = 2;

/** Opens the program and tries it. Throws a FailureError that names the key where it does not answer as it should. */
export async function openOwnReward({ custom }: Pick<RewardConfig, 'custom'>): Promise<OwnReward> {
  const timeoutMs = custom.timeoutSeconds * 1000;
  const program = await openProgram(
    custom,
    { timeoutMs, probe: PROBE, check: rewardFrom },
    {
      name: 'reward.custom',
      fix: 'Let it answer {"id": 1, "total": 0.5} to {"id": 1, "question": …, "references": […], "response": …}, one JSON object per line; or remove reward.custom.',
    },
  );
  const enter = limited(IN_FLIGHT);
  const ask = async (tree: Tree, path: number): Promise<Reward> => {
    const signal = new AbortController().signal;
    const attempt = async (): Promise<Reward> => rewardFrom(await program.ask(inputOf(tree, path), signal));
    return retrying(attempt, { retries: RETRIES, key: streamKey('reward', tree.id, path), signal });
  };
  return {
    label: program.label,
    ask: (tree, path) => enter(() => ask(tree, path)),
    close: () => program.close(),
  };
}

/** At most so many at once, in the order in which they came. */
function limited(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async work => {
    if (running >= most) await new Promise<void>(start => waiting.push(start));
    else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}

export function inputOf(tree: Tree, path: number): RewardInput {
  const segments = segmentsOf(tree, path).map(index => tree.segments[index]!);
  const { question, references, ability } = tree.task;
  return {
    question,
    references,
    ability,
    response: responseText(tree, path),
    segments: segments.flatMap(({ kind, text }) => (kind === 'prompt' ? [] : [{ kind, text }])),
    calls: segments.flatMap(({ call, text }) =>
      call ? [{ tool: call.tool, argument: call.argument, outcome: call.outcome, result: text }] : [],
    ),
  };
}

const THOUGHT = '<think>One and one.</think><python>1 + 1</python>';
const RESULT = ' <result>\n2\n</result>';
const SOLUTION = '<think>Two.</think><answer>\\boxed{2}</answer>';
const PROBE: RewardInput = {
  question: 'What is 1 + 1?',
  references: ['2'],
  ability: 'math',
  response: THOUGHT + RESULT + SOLUTION,
  segments: [
    { kind: 'model', text: THOUGHT },
    { kind: 'tool', text: RESULT },
    { kind: 'model', text: SOLUTION },
  ],
  calls: [{ tool: 'python', argument: '1 + 1', outcome: 'ok', result: RESULT }],
  probe: true,
};

/** What the program answered, checked; throws an Error that names the part that is wrong. */
export function rewardFrom({ total, parts = {}, correct, reason, answer, error }: Answer): Reward {
  if (error !== undefined) throw new Error(`It answered with an error: ${wordsOf(error)}.`);
  if (!isNumber(total)) throw wrong('total', 'a finite number', total);
  const isTable = typeof parts === 'object' && parts !== null && !Array.isArray(parts);
  if (!isTable || !Object.values(parts).every(isNumber))
    throw wrong('parts', 'an object of finite numbers', parts);
  if (correct !== undefined && typeof correct !== 'boolean') throw wrong('correct', 'true or false', correct);
  for (const [name, text] of [
    ['reason', reason],
    ['answer', answer],
  ] as const)
    // prettier-ignore
    if (text !== undefined && typeof text !== 'string') throw wrong(name, 'a text', text);
  return {
    total,
    parts: parts as Readonly<Record<string, number>>,
    correct: correct ?? total > 0,
    ...(answer !== undefined && { answer: answer as string }),
    reason: (reason as string | undefined) ?? 'As reward.custom said.',
  };
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

const wrong = (part: string, wanted: string, got: unknown): Error =>
  new Error(`Its "${part}" must be ${wanted}, but is ${JSON.stringify(got) ?? 'missing'}.`);
