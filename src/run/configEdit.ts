/** Turns a remedy into edits of a config's text that leave comments and everything else as they are. Knows nothing of what the keys mean. */
import type { Edit, Node } from 'jsonc-parser';
import { applyEdits, getNodeValue, modify, parseTree } from 'jsonc-parser';
import type { Remedy } from '../core/configRemedy.ts';
import { nodeAt } from './configFile.ts';

/** Replaces `length` UTF-16 units from `offset` on. */
export type { Edit } from 'jsonc-parser';

const FORMATTING = { formattingOptions: { insertSpaces: true, tabSize: 2, eol: '\n' } };

/** Empty where the text has no place for it: a key that is not there any more, or a new name that is taken. */
export function editsOf(text: string, remedy: Remedy): Edit[] {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (!root) return [];
  const node = nodeAt(root, remedy.path);
  switch (remedy.kind) {
    case 'set': {
      if (node) return [replaced(node, remedy.value)];
      return modify(text, stepsIn(root, remedy.path), remedy.value, FORMATTING);
    }
    case 'remove':
      return node?.parent ? removal(text, node.parent, node) : [];
    case 'rename':
      return node ? renaming(text, root, node, remedy) : [];
  }
}

export const edited = (text: string, remedy: Remedy): string => applyEdits(text, editsOf(text, remedy));

const replaced = ({ offset, length }: Node, value: unknown): Edit => ({
  ...{ offset, length, content: JSON.stringify(value) },
});

/** jsonc-parser wants a list's index as a number. */
const stepsIn = (root: Node, path: readonly string[]): (string | number)[] =>
  path.map((step, depth) => (nodeAt(root, path.slice(0, depth))?.type === 'array' ? Number(step) : step));

function renaming(
  text: string,
  root: Node,
  node: Node,
  { path, to }: Extract<Remedy, { kind: 'rename' }>,
): Edit[] {
  const name = node.parent?.children?.[0];
  if (nodeAt(root, to) || !name || node.parent?.type !== 'property') return [];
  const isSibling = path.slice(0, -1).join('.') === to.slice(0, -1).join('.');
  if (isSibling) return [replaced(name, to.at(-1))];
  const without = applyEdits(text, removal(text, node.parent, node));
  return [difference(text, applyEdits(without, modify(without, [...to], getNodeValue(node), FORMATTING)))];
}

/** The one edit that makes the other text of a text. */
function difference(text: string, other: string): Edit {
  const shorter = Math.min(text.length, other.length);
  let same = 0;
  while (same < shorter && text[same] === other[same]) same++;
  let tail = 0;
  while (tail < shorter - same && text.at(-1 - tail) === other.at(-1 - tail)) tail++;
  return {
    offset: same,
    length: text.length - same - tail,
    content: other.slice(same, other.length - tail),
  };
}

/** Takes a property or an item away with its comma, and with the comment lines directly above where it has lines of its own. */
function removal(text: string, parent: Node, node: Node): Edit[] {
  const item = parent.type === 'property' ? parent : node;
  const siblings = item.parent?.children ?? [];
  const before = siblings[siblings.indexOf(item) - 1];
  const comma = commaBehind(text, item);
  let [start, end] = [item.offset, comma === undefined ? item.offset + item.length : comma + 1];
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const rest = /^[ \t]*(\/\/[^\r\n]*)?(\r?\n|$)/.exec(text.slice(end));
  if (text.slice(lineStart, start).trim() === '' && rest) {
    start = withComments(text, lineStart);
    end += rest[0].length;
  }
  const edits = [{ offset: start, length: end - start, content: '' }];
  // The last one's comma stands behind the one before it.
  const own = comma === undefined && before ? commaBehind(text, before) : undefined;
  return own === undefined ? edits : [{ offset: own, length: 1, content: '' }, ...edits];
}

/** Where the comma behind a property or an item is; comments may stand between, with commas of their own. */
function commaBehind(text: string, { offset, length }: Node): number | undefined {
  const end = offset + length;
  const passed = /^(?:\s|\/\/[^\r\n]*|\/\*[^]*?\*\/)*/.exec(text.slice(end))![0].length;
  return text[end + passed] === ',' ? end + passed : undefined;
}

/** Start of the first of the comment lines directly above a line. */
function withComments(text: string, lineStart: number): number {
  let start = lineStart;
  while (start > 0) {
    const above = text.lastIndexOf('\n', start - 2) + 1;
    if (!/^[ \t]*\/\//.test(text.slice(above, start))) break;
    start = above;
  }
  return start;
}
