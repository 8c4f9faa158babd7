/** What is wrong with single values of a config, and with the parts of those that have parts. Knows nothing of which keys there are. */
import type { AnyKey, ChoiceKey, CountsKey, ListKey, NumberKey, PlainKey } from './configSpecs.ts';
import { cut } from './wrap.ts';

interface Sentences {
  message: string;
  fix: string;
  values?: readonly unknown[];
}

/** What is wrong with a value, or with the part of it that the steps lead to. */
export interface Wrong extends Sentences {
  part: readonly string[];
  what: 'unknown-key' | 'missing-key' | 'wrong-value';
  /** The nearest known name, of an unknown key. */
  name?: string;
  /** Values that would be right, the likeliest first; absent where none suggests itself. */
  values?: readonly unknown[];
}

/** All that is wrong with a value. */
export function wrongParts(spec: AnyKey, value: unknown): Wrong[] {
  if (spec.kind === 'counts') return wrongCounts(spec, value);
  if (spec.kind === 'list') return wrongList(spec, value);
  return at([], wrongPlain(spec, value));
}

/** A value that is right, with the defaults of the parts that it leaves out. */
export function completed(spec: AnyKey, value: unknown): unknown {
  if (spec.kind !== 'list') return value;
  const defaults = Object.fromEntries(
    Object.entries(spec.items).map(([name, item]): [string, unknown] => [name, item.default]),
  );
  return (value as readonly object[]).map(item => ({ ...defaults, ...item }));
}

const at = (part: readonly string[], wrong: Sentences | undefined): Wrong[] =>
  wrong ? [{ part, what: 'wrong-value', ...wrong }] : [];

function wrongCounts(spec: CountsKey, value: unknown): Wrong[] {
  if (!isObject(value))
    return at([], {
      message: `must be an object of numbers by name, but is ${describe(value)}.`,
      fix: spec.description,
    });
  const number: PlainKey = { ...spec, kind: 'integer', default: spec.maximum };
  return Object.entries(value).flatMap(([name, count]: [string, unknown]) =>
    at([name], wrongPlain(number, count)),
  );
}

function wrongList(spec: ListKey, value: unknown): Wrong[] {
  if (!Array.isArray(value))
    return at([], {
      message: `must be a list, but is ${describe(value)}.`,
      fix: `Write [{ ${Object.keys(spec.items).join(', ')} }].`,
    });
  return value.flatMap((item: unknown, index) => wrongItem(spec, item, String(index)));
}

function wrongItem({ items }: ListKey, item: unknown, index: string): Wrong[] {
  const names = Object.keys(items);
  if (!isObject(item))
    return at([index], {
      message: `must be an object, but is ${describe(item)}.`,
      fix: `Write { ${names.join(', ')} }.`,
    });
  const unknown = Object.keys(item).filter(name => !Object.hasOwn(items, name));
  const missing = Object.entries(items).filter(
    ([name, spec]) =>
      spec.kind === 'text' && spec.isRequired && spec.default === '' && !Object.hasOwn(item, name),
  );
  return [
    ...unknown.map((name): Wrong => {
      const near = nearest(name, names);
      const fix = near ? `Did you mean ${near}?` : 'Remove it.';
      const message = 'is not a key of this list.';
      return { part: [index, name], what: 'unknown-key', message, fix, ...(near && { name: near }) };
    }),
    ...missing.map(([name, spec]): Wrong => missingPart([index, name], spec)),
    ...Object.entries(item).flatMap(([name, value]: [string, unknown]) => {
      const spec = Object.hasOwn(items, name) ? items[name] : undefined;
      return spec ? at([index, name], wrongPlain(spec, value)) : [];
    }),
  ];
}

/** A part that must be given and is not. */
export const missingPart = (part: readonly string[], spec: AnyKey): Wrong => ({
  ...{ part, what: 'missing-key', message: 'is missing.', fix: `Add it: ${spec.description}` },
  values: [(spec.kind === 'text' ? spec.example : undefined) ?? spec.default],
});

function wrongPlain(spec: PlainKey, value: unknown): Sentences | undefined {
  switch (spec.kind) {
    case 'boolean':
      return typeof value === 'boolean'
        ? undefined
        : {
            message: `must be true or false, but is ${describe(value)}.`,
            fix: `The default is ${spec.default}.`,
            values: value === String(!spec.default) ? [!spec.default] : [spec.default],
          };
    case 'choice':
      return typeof value === 'string' && Object.hasOwn(spec.choices, value)
        ? undefined
        : wrongChoice(spec, value);
    case 'text':
      return wrongText(spec, value);
    case 'words':
      return Array.isArray(value) && value.every(word => typeof word === 'string' && !word.includes('\0'))
        ? undefined
        : {
            message: `must be a list of texts, but is ${describe(value)}.`,
            fix: 'For example ["python3", "mine.py"].',
          };
    case 'integer':
    case 'number': {
      const isInRange =
        typeof value === 'number' &&
        Number.isFinite(value) &&
        (spec.aboveMinimum ? value > spec.minimum : value >= spec.minimum) &&
        value <= spec.maximum;
      if (isInRange && (spec.kind === 'number' || Number.isInteger(value))) return undefined;
      const noun = spec.kind === 'integer' ? 'a whole number' : 'a number';
      const from = spec.aboveMinimum ? `above ${spec.minimum}` : `of at least ${spec.minimum}`;
      const message = `must be ${noun} ${from} and at most ${spec.maximum}, but is ${describe(value)}.`;
      return { message, fix: `The default is ${spec.default}.`, values: numbersNear(spec, value) };
    }
  }
}

/** The number that a text spells or the nearest that is allowed, and the default. */
function numbersNear(spec: NumberKey, value: unknown): number[] {
  const asked = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof asked !== 'number' || Number.isNaN(asked)) return [spec.default];
  const inRange = Math.min(spec.maximum, Math.max(spec.minimum, asked));
  const near = spec.kind === 'integer' ? Math.round(inRange) : inRange;
  const isAllowed = !spec.aboveMinimum || near > spec.minimum;
  return [...new Set(isAllowed ? [near, spec.default] : [spec.default])];
}

function wrongChoice(spec: ChoiceKey, value: unknown): Sentences {
  const choices = Object.keys(spec.choices);
  const near = typeof value === 'string' ? nearest(value, choices) : undefined;
  const fix = near ? `Did you mean "${near}"?` : `Write one of them.`;
  const message = `must be one of ${choices.join(', ')}, but is ${describe(value)}.`;
  return { message, fix, values: [...new Set([near ?? spec.default, spec.default])] };
}

function wrongText(spec: Extract<AnyKey, { kind: 'text' }>, value: unknown): Sentences | undefined {
  if (typeof value !== 'string')
    return {
      ...{ message: `must be a text, but is ${describe(value)}.`, fix: 'Put it in quotes.' },
      ...((typeof value === 'number' || typeof value === 'boolean') && { values: [String(value)] }),
    };
  if (value === '' && spec.isRequired)
    return {
      ...{ message: 'is empty.', fix: spec.description },
      values: [spec.example ?? spec.default].filter(text => text !== ''),
    };
  if (value.includes('\0'))
    return { message: 'contains a character that no name may have.', fix: 'Remove the \\u0000.' };
  if (spec.pattern !== undefined && !new RegExp(spec.pattern, 'u').test(value))
    return {
      message: `must be ${spec.patternMeaning}, but is ${describe(value)}.`,
      fix: spec.default === '' ? spec.description : `For example "${spec.default}".`,
      ...(spec.default !== '' && { values: [spec.default] }),
    };
  return undefined;
}

export const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function describe(value: unknown): string {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(cut(value, 60));
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : typeof value;
}

export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[_\- ]/g, '');
  let best: string | undefined;
  let bestDistance = Infinity;
  for (const candidate of candidates) {
    const distance = editDistance(plain(word), plain(candidate));
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return bestDistance <= Math.max(1, Math.floor(word.length / 4)) ? best : undefined;
}

/** Levenshtein: insertions, deletions and replacements that turn one word into the other. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 16) return Infinity;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
