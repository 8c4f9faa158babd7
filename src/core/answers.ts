/** Compares an answer with references: by words, as text, as numbers. Knows nothing of trees, tags or rewards. */

/** How two answers are compared; `auto` is `number` where the reference is one, else `f1`. */
export type Comparison = 'auto' | 'f1' | 'exact' | 'number';

/** Best score of an answer over all references, in [0, 1]. */
export const compare = (answer: string, references: readonly string[], comparison: Comparison): number =>
  Math.max(0, ...references.map(reference => COMPARISONS[comparison](answer, reference)));

const COMPARISONS: Record<Comparison, (answer: string, reference: string) => number> = {
  auto: (answer, reference) =>
    parseNumber(reference) === undefined ? wordsOrText(answer, reference) : number(answer, reference),
  f1: wordsOrText,
  exact,
  number,
};

/**
 * Word F1 = 2PR / (P + R) over the multisets of normalised words; 0 where either side is yes, no or noanswer and the other
 * is not. upstream: deep_research.py, the score of every task, mathematics included.
 */
export function wordF1(answer: string, reference: string): number {
  const said = normalise(answer);
  const wanted = normalise(reference);
  if (said !== wanted && (CLOSED.has(said) || CLOSED.has(wanted))) return 0;
  const saidWords = said.split(' ').filter(word => word !== '');
  const wantedWords = wanted.split(' ').filter(word => word !== '');
  const common = overlap(saidWords, wantedWords);
  if (common === 0) return 0;
  const precision = common / saidWords.length;
  const recall = common / wantedWords.length;
  return (2 * precision * recall) / (precision + recall);
}

/** Lower case, no ASCII punctuation, no articles, single spaces. */
export const normalise = (text: string): string =>
  text
    .toLowerCase()
    .replace(PUNCTUATION, '')
    .replace(ARTICLES, ' ')
    .split(/\s+/)
    .filter(word => word !== '')
    .join(' ');

/** The number that a text is, thousands separators and simple fractions included; undefined where it is something else. */
export function parseNumber(text: string): number | undefined {
  const plain = text
    .trim()
    .replace(/^\$|\$$/g, '')
    .replace('−', '-');
  const fraction = /^([+-]?\d+)\s*\/\s*(\d+)$/.exec(plain);
  if (fraction) return Number(fraction[2]) === 0 ? undefined : Number(fraction[1]) / Number(fraction[2]);
  if (!/^[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d*)?(e[+-]?\d+)?$/i.test(plain) || !/\d/.test(plain))
    return undefined;
  const value = Number(plain.replaceAll(',', ''));
  return Number.isFinite(value) ? value : undefined;
}

const PUNCTUATION = /[!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]/g;
/** As whole words of letters of any script, as upstream's \b means it: JavaScript's would cut “Ağva” and “Doña” in two. */
const ARTICLES = /(?<![\p{L}\p{N}_])(a|an|the)(?![\p{L}\p{N}_])/gu;
const CLOSED = new Set(['yes', 'no', 'noanswer']);
/** Two decimals that print the same number may differ in their last bits. */
const RELATIVE_TOLERANCE = 1e-9;

/** Word F1, but a reference that is all articles or punctuation (choice “A”) counts as text: upstream never rewards it. */
function wordsOrText(answer: string, reference: string): number {
  return normalise(reference) === '' ? asText(answer, reference) : wordF1(answer, reference);
}

function exact(answer: string, reference: string): number {
  const wanted = normalise(reference);
  return wanted === '' ? asText(answer, reference) : Number(normalise(answer) === wanted);
}

const asText = (answer: string, reference: string): number =>
  Number(answer.trim().toLowerCase() === reference.trim().toLowerCase());

function number(answer: string, reference: string): number {
  const said = parseNumber(answer);
  const wanted = parseNumber(reference);
  if (said === undefined || wanted === undefined) return 0;
  return Number(Math.abs(said - wanted) <= RELATIVE_TOLERANCE * Math.max(1, Math.abs(wanted)));
}

/** Words that both have, each as often as both do. */
function overlap(some: readonly string[], others: readonly string[]): number {
  const left = new Map<string, number>();
  for (const word of others) left.set(word, (left.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of some) {
    const count = left.get(word) ?? 0;
    if (count > 0) common++;
    left.set(word, count - 1);
  }
  return common;
}
