/** A world of sums that a scripted policy answers in all the ways there are. Knows nothing of files or of a run's steps. */
import { makePieces, type Pieces } from '../../src/core/pieces.ts';
import { streamKey, uniform } from '../../src/core/random.ts';
import type { Task } from '../../src/core/types.ts';
import type { SampleRequest } from '../../src/worker/policy/policy.ts';
import type { ToolPool } from '../../src/worker/tools/tool.ts';
import { characters, END } from './characters.ts';
import { scriptedPolicy, type Script, type ScriptedPolicy, type Turn } from './scriptedPolicy.ts';

/** Task n asks for a sum; the references are right. */
export const sums = (count: number): Task[] =>
  Array.from({ length: count }, (_, i) => ({
    id: `sums#${i + 1}`,
    messages: [{ role: 'user' as const, content: `What is ${11 + i} + ${3 * i + 2}?` }],
    references: [String(13 + 4 * i)],
    ability: i % 2 === 0 ? 'even' : 'odd',
    source: 'sums',
  }));

/** One token per character up to U+00FF. */
export const tinyPieces = (): Pieces =>
  makePieces(Array.from({ length: 256 }, (_, id) => Buffer.from(id === 0 ? '' : String.fromCharCode(id))));

export const tinyTokenizer = { ...characters, vocabularySize: 256, pieces: tinyPieces() };

/**
 * Searches, computes, guesses, makes a mistake or rambles, by the request's random stream; with each step of training it
 * makes fewer mistakes, as if it learned. After a tool result it is unsure. `weights` is the step of the weights that it
 * was opened on.
 */
export const sumsPolicy = (weights = 0): ScriptedPolicy => {
  let step = weights;
  return scriptedPolicy((said, request) => {
    step = Math.max(step, Number(/^(\d+)\./.exec(request.key)?.[1] ?? 0));
    return sumsTurn(said, request, step);
  });
};

/** The same policy without a memory of its training. */
export const sumsScript: Script = (said, request) => sumsTurn(said, request, 0);

function sumsTurn(said: string, request: SampleRequest, step: number): Turn {
  const draw = (n: number): number =>
    request.temperature === 0 ? 0.5 : uniform(request.stream, 1000 * n + said.length);
  const skill = Math.min(0.9, 0.25 + 0.1 * step);
  const [, a = '0', b = '0'] = /What is (\d+) \+ (\d+)\?/.exec(said) ?? [];
  const isRight = draw(1) < skill;
  const results = said.split('</result>').length - 1;
  const isDone = results > 0 && draw(2) < 0.3 + 0.3 * results;
  return measured(
    said,
    request,
    isDone ? answer(Number(a) + Number(b) + (isRight ? 0 : 1)) : act(a, b, draw(3)),
  );
}

function act(a: string, b: string, choice: number): string {
  if (choice < 0.4) return `<think>I compute.</think><python>${a} + ${b}</python>`;
  if (choice < 0.7) return `<think>I look it up.</think><search>sum of ${a} and ${b}</search>`;
  if (choice < 0.75) return '<think>Empty.</think><search> </search>';
  if (choice < 0.8) return `<think>${'So it goes on. '.repeat(40)}`;
  return answer(Number(a));
}

const answer = (value: number): string => `<think>So.</think><answer>\\boxed{${value}}</answer>${END}`;

function measured(said: string, { stream }: SampleRequest, text: string): Turn {
  const mood = said.endsWith('</result>') ? 1.2 : 0.5;
  const entropies = Array.from(
    text,
    (_, i) => mood * uniform(stream, 7919 * (i + 1) + said.length) * (i < 30 ? 1 : 0.3),
  );
  return { text, entropies, logProbs: entropies.map(entropy => -entropy) };
}

/** Tools that answer at once, or after a random time of up to `delayMs` that depends on nothing else. */
export function sumsTools(delayMs = 0): ToolPool {
  const call = async (tag: string, argument: string): ReturnType<ToolPool['call']> => {
    if (delayMs > 0) await new Promise(resolve => setTimeout(resolve, Math.random() * delayMs));
    const [a, b] = argument.match(/\d+/g) ?? [];
    const isLost = tag === 'search' && uniform(streamKey('lost', argument), 0) < 0.3;
    const text = isLost ? 'No search results found.' : String(Number(a) + Number(b));
    return { outcome: isLost ? 'error' : 'ok', text, latencyMs: 12, shared: false };
  };
  return {
    tags: ['search', 'python'],
    describe: () => ({ search: 'a table of sums', python: 'an adder' }),
    call,
    close: () => Promise.resolve(),
  };
}
