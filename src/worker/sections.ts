/**
 * Cuts a rendered chat before its control tokens and remembers the ids of parts that come again, as a system prompt does in every
 * prompt of a dataset. Knows nothing of how a part becomes ids.
 */

/** An entry of `added_tokens` in tokenizer.json. */
export interface AddedToken {
  content: string;
  special?: boolean;
  lstrip?: boolean;
  rstrip?: boolean;
}

/** Parts that are remembered: a template and its system prompts have a few. */
const REMEMBERED = 64;

/**
 * The same ids as `encode` gives for the whole text: an added token ends what is encoded together, so that a text may be cut before
 * one; but not where tokens overlap, or take the space around them.
 */
export function bySections(
  encode: (text: string) => readonly number[],
  added: readonly AddedToken[],
): (text: string) => number[] {
  const controls = added.filter(({ special, content }) => special && content.length > 1);
  const takesSpace = added.some(({ lstrip, rstrip }) => lstrip === true || rstrip === true);
  if (
    controls.length === 0 ||
    takesSpace ||
    added.some(token => controls.some(control => meets(token, control)))
  )
    return text => [...encode(text)];
  const literal = controls.map(({ content }) => content.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const before = new RegExp(`(?=${literal.join('|')})`);
  const known = new Map<string, readonly number[]>();
  const remembered = (part: string): readonly number[] => {
    const ids = known.get(part) ?? encode(part);
    // What was asked last is at the end; what is at the front has not been asked for longest.
    known.delete(part);
    known.set(part, ids);
    if (known.size > REMEMBERED) known.delete(known.keys().next().value!);
    return ids;
  };
  return text => text.split(before).flatMap(remembered);
}

/** Whether the control token may begin inside the other one. */
function meets({ content }: AddedToken, control: AddedToken): boolean {
  for (let at = 1; at < content.length; at++) {
    const rest = content.slice(at);
    if (rest.startsWith(control.content) || control.content.startsWith(rest)) return true;
  }
  return false;
}
