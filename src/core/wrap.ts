/** Breaks long lines and remembers where, cuts long texts, and makes control characters visible. Knows nothing of tokens or editors. */

/** `breaks` ascend: offsets into the text as it was, before each of which one line feed was added. */
export interface Wrapped {
  text: string;
  breaks: number[];
}

/** Lines of at most `width` UTF-16 units, broken after the last space of a line's second half, else at the width; never inside a character. */
export function wrap(text: string, width: number): Wrapped {
  const breaks: number[] = [];
  let lineStart = 0;
  while (lineStart < text.length) {
    const feed = text.indexOf('\n', lineStart);
    const lineEnd = feed < 0 ? text.length : feed;
    while (lineEnd - lineStart > width) {
      lineStart = breakBefore(text, lineStart, width);
      breaks.push(lineStart);
    }
    lineStart = lineEnd + 1;
  }
  let from = 0;
  const parts = breaks.map(at => text.slice(from, (from = at)));
  return { text: [...parts, text.slice(from)].join('\n'), breaks };
}

function breakBefore(text: string, start: number, width: number): number {
  // Only the second half is looked at: a long text may have no space at all.
  const half = start + Math.ceil(width / 2);
  const space = text.slice(half, start + width).lastIndexOf(' ');
  if (space >= 0) return half + space + 1;
  const at = start + width;
  return splitsPair(text, at) && width > 1 ? at - 1 : at;
}

/**
 * Offsets of the text as it was, as offsets of the wrapped text: [from, to) still covers the same characters. The line feeds
 * that were added at either end are left out.
 */
export function wrappedRange({ breaks }: Wrapped, from: number, to: number): [number, number] {
  const start = from + countBelow(breaks, from + 1);
  return [start, Math.max(start, to + countBelow(breaks, to))];
}

/** How many of the ascending numbers are below the limit. */
function countBelow(ascending: ArrayLike<number>, limit: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Control characters as the pictures that Unicode has for them, one for one: an editor would drop or normalise them. */
export const visible = (text: string): string =>
  // eslint-disable-next-line no-control-regex -- these are the characters that must be shown
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, char =>
    char === '\u007f' ? '␡' : String.fromCharCode(0x2400 + char.charCodeAt(0)),
  );

/** At most so many UTF-16 units of a text, with an ellipsis where there are more; never the half of a character. */
export const cut = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, splitsPair(text, limit) ? limit - 1 : limit)}…`;

/** On one line, and with its ellipsis at most so many UTF-16 units. */
export function shorten(text: string, limit: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= limit ? line : cut(line, limit - 1).replace(/ …$/, '…');
}

/** Whether an offset lies inside a character of two UTF-16 units. */
const splitsPair = (text: string, at: number): boolean =>
  (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00;
