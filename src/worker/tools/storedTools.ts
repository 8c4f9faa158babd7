/** Answers calls out of a stored tree, as the tools answered when it was drawn; what the tree never asked goes to the tools. Knows nothing of policies or of how a tree is drawn. */
import { closingTag, payloadOf, resultText } from '../../core/tags.ts';
import type { Grown } from '../../core/tree.ts';
import type { Segment, Tree } from '../../core/types.ts';
import { toFailure } from '../../protocol/channel.ts';
import type { RolloutTokenizer } from '../growing.ts';
import type { PooledResult, ToolPool, ToolResult } from './tool.ts';

export interface StoredTools extends ToolPool {
  /** Calls so far, by who answered them. */
  readonly answered: { stored: number; live: number };
}

/**
 * Calls with the same words are answered in the order of the segments' results, which is the order in which they were made; beyond their
 * number the last answer is repeated. `openLive` is asked for what they do not have; who opened it closes it.
 */
export function storedTools(
  segments: Tree['segments'],
  tags: readonly string[],
  openLive: () => Promise<ToolPool>,
): StoredTools {
  const known = new Map<string, ToolResult[]>();
  for (const { text, call } of segments.filter(isAnswered)) {
    const key = keyOf(call.tool, call.argument);
    known.set(key, [...(known.get(key) ?? []), { outcome: call.outcome, text: payloadOf(text) }]);
  }
  const answered = { stored: 0, live: 0 };
  return {
    tags,
    answered,
    describe: () => Object.fromEntries(tags.map(tag => [tag, `a stored answer`])),
    async call(tag, argument): Promise<PooledResult> {
      const results = known.get(keyOf(tag, argument));
      const found = results !== undefined && results.length > 1 ? results.shift() : results?.[0];
      if (found) {
        answered.stored++;
        return { ...found, latencyMs: 0, shared: true };
      }
      answered.live++;
      try {
        return await (await openLive()).call(tag, argument);
      } catch (error) {
        const text = `The stored tree did not make this call, and ${tag} cannot be asked: ${toFailure(error).message}`;
        return { outcome: 'failed', text, latencyMs: 0, shared: false };
      }
    },
    close: () => Promise.resolve(),
  };
}

type Answered = Segment & { call: NonNullable<Segment['call']> };

/** The result of a tool; a message that a limit was reached is none. */
const isAnswered = (segment: Segment): segment is Answered =>
  segment.call !== undefined && segment.call.outcome !== 'refused';

const keyOf = (tag: string, argument: string): string => `${tag}\n${argument}`;

/**
 * The tokenizer, which gives stored results the tokens that they had: of a result that was cut to the room of its trajectory the words
 * alone would not tell them.
 */
export function withStoredResults<T extends RolloutTokenizer>(tokenizer: T, { tree, columns }: Grown): T {
  const answers = tree.segments.filter(isAnswered);
  const whole = new Set(answers.map(({ text }) => text));
  const rest = Array.from(tokenizer.encode(`\n${closingTag('result')}`));
  const cut = new Map<string, number[]>();
  for (const { text, start, count } of answers) {
    const uncut = resultText(payloadOf(text));
    if (!whole.has(uncut)) cut.set(uncut, [...columns.ids.subarray(start, start + count), ...rest]);
  }
  return { ...tokenizer, encode: text => cut.get(text) ?? tokenizer.encode(text) };
}
