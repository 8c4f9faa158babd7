/** The text protocol between policy and tools: tags, calls, results. Knows nothing of tokens or of what a tool does. */

export const openingTag = (tag: string): string => `<${tag}>`;
export const closingTag = (tag: string): string => `</${tag}>`;

/** The tool that a stop string belongs to: `search` for `</search>`. */
export const tagOf = (stop: string): string => stop.replace(/[<>/]/g, '');

/** What is appended after a call: nothing follows the closing tag, so the policy goes on right behind it. */
export const resultText = (payload: string): string => ` <result>\n${payload}\n</result>`;

/** What a tool said, from the text of its segment; the inverse of resultText, also where the text was cut. */
export const payloadOf = (text: string): string =>
  text.replace(/^ <result>\n/, '').replace(/\n<\/result>$/, '');

/** What is read in place of a result by a trajectory that has called a tool as often as it may. */
export function limitText(tool: string, limit: number): string {
  if (limit === 0) return `You may not call ${tool}. Go on without it and give your answer.`;
  const made = limit === 1 ? 'the one call that you had is made' : `all ${limit} calls that you had are made`;
  return `You may not call ${tool} again: ${made}. Go on with what you know and give your answer.`;
}

/**
 * Argument of the call that a text ends with: what stands between the last closing tag and the nearest opening tag
 * before it, trimmed; '' where there is none. Rule `paper` looks at the current turn only; upstream looks at the whole
 * text, so that a stray closing tag finds the example tag of the system prompt.
 */
export function callArgument(text: string, tag: string): string {
  const close = text.lastIndexOf(closingTag(tag));
  if (close < 0) return '';
  const open = text.lastIndexOf(openingTag(tag), close);
  return open < 0 ? '' : text.slice(open + openingTag(tag).length, close).trim();
}

/** Number of times that a piece of text occurs, without overlaps. */
export const occurrences = (text: string, piece: string): number => text.split(piece).length - 1;

/** Text of the first `<tag>…</tag>`; undefined where there is none. */
export function firstBlock(text: string, tag: string): string | undefined {
  const open = text.indexOf(openingTag(tag));
  const start = open + openingTag(tag).length;
  const close = open < 0 ? -1 : text.indexOf(closingTag(tag), start);
  return close < 0 ? undefined : text.slice(start, close);
}

/**
 * Content of the last `\boxed{…}` with its braces balanced, or of the last `\boxed …` up to a dollar sign; undefined
 * where there is none or its braces do not close.
 */
export function lastBoxed(text: string): string | undefined {
  const at = text.lastIndexOf('\\boxed');
  if (at < 0) return undefined;
  const after = text.slice(at + '\\boxed'.length);
  if (after.startsWith(' ')) return after.slice(1).split('$')[0];
  return after.startsWith('{') ? balanced(after) : undefined;
}

/** Inside of the brace pair that the text starts with; undefined where it does not close. */
function balanced(text: string): string | undefined {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '{') depth++;
    if (text[i] === '}' && --depth === 0) return text.slice(1, i);
  }
  return undefined;
}
