/** A tokenizer of one token per UTF-16 unit. Knows nothing of merges or special tokens. */

/** The end-of-sequence character, token 0. */
export const END = '\u0000';

/** One token per UTF-16 unit; decoding drops the end-of-sequence. */
export const characters = {
  encode: (text: string): Int32Array =>
    Int32Array.from({ length: text.length }, (_, i) => text.charCodeAt(i)),
  encodePrompt: (messages: readonly { content: string }[]): Int32Array =>
    characters.encode(`${messages.map(message => message.content).join('\n')}\n`),
  decode: (ids: ArrayLike<number>): string => String.fromCharCode(...Array.from(ids)).replaceAll(END, ''),
  endIds: [0],
  vocabularySize: 65536,
};
