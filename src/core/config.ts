/** A run's configuration: presets, resolving and checking. Knows nothing of files, lines or editors. */
import type { AnyKey, Config, ConfigKey, ConfigValue, Preset } from './configKeys.ts';
import { branches, KEYS, PRESETS, keyNames, keyOf } from './configKeys.ts';
import { impossible } from './configRules.ts';

export type { Config, ConfigKey, ConfigValue, Preset } from './configKeys.ts';
export { jsonSchema } from './configSchema.ts';

/** What is wrong with one place of a config. */
export interface ConfigProblem {
  /** Dotted name, as the reader knows it; '' for the whole config. */
  key: string;
  /** The same as steps from the root, for finding the place in the text. */
  path: readonly string[];
  /** Whether the key itself is wrong, or its value. */
  at: 'key' | 'value';
  message: string;
  fix: string;
}

/** Values by dotted key: what a config says itself, without preset and defaults. */
export type GivenValues = ReadonlyMap<ConfigKey, unknown>;

/** The config that says only its preset. Its required keys are '' and so it is not yet valid. */
export const defaults = (preset: Preset = 'arpo'): Config => resolve(new Map([['preset', preset]]));

/** A valid config with every key present, or all that is wrong with it. */
export function validate(value: unknown): { config: Config } | { problems: ConfigProblem[] } {
  if (!isObject(value)) {
    const message = `A config is a JSON object; this is ${describe(value)}.`;
    return {
      problems: [{ key: '', path: [], at: 'value', message, fix: 'Write { "policy": …, "data": … }.' }],
    };
  }
  const given = new Map<ConfigKey, unknown>();
  const problems = collect(value, [], given);
  for (const key of keyNames) {
    const wrong = given.has(key) ? wrongValue(keyOf(key), given.get(key)) : missingValue(key);
    if (wrong) problems.push({ key, path: key.split('.'), at: 'value', ...wrong });
  }
  if (problems.length > 0) return { problems };
  const config = resolve(given);
  const broken = impossible(config, given).map(({ keys, message, fix }): ConfigProblem => {
    // The place is the first of the keys that the config says itself; the others come from its preset.
    const key = keys.find(candidate => given.has(candidate)) ?? keys[0]!;
    return { key, path: key.split('.'), at: 'value', message, fix };
  });
  return broken.length > 0 ? { problems: broken } : { config };
}

/** Defaults, then what follows from other keys, then the preset, then the config itself. */
function resolve(given: GivenValues): Config {
  const preset = PRESETS[(given.get('preset') ?? KEYS.preset.default) as Preset];
  const value = <K extends ConfigKey>(key: K): ConfigValue<K> =>
    (given.get(key) ?? preset[key] ?? keyOf(key).default) as ConfigValue<K>;
  const follows = new Map<ConfigKey, unknown>();
  if (!branches(value('preset'))) follows.set('rollout.initialRollouts', value('rollout.groupSize'));
  if (value('rollout.rule') === 'upstream') follows.set('rollout.limitAction', 'append-end-trained');
  else follows.set('rollout.limitAction', 'append-end-masked');
  if (value('data.heldOut') === '') follows.set('evaluation.tasks', 0);
  const config: Record<string, unknown> = {};
  for (const key of keyNames) put(config, key.split('.'), given.get(key) ?? follows.get(key) ?? value(key));
  // Every key of the table was put, and the table is complete over Config by its type.
  return config as unknown as Config;
}

function put(target: Record<string, unknown>, [head, ...rest]: string[], value: unknown): void {
  if (head === undefined) return;
  if (rest.length === 0) target[head] = value;
  else put((target[head] ??= {}) as Record<string, unknown>, rest, value);
}

/** Sorts an object's values into `given`; what the table does not know is a problem. */
function collect(value: object, path: readonly string[], given: Map<ConfigKey, unknown>): ConfigProblem[] {
  return Object.entries(value).flatMap(([name, child]): ConfigProblem[] => {
    const here = [...path, name];
    const key = here.join('.');
    // Editors let a JSON file name its schema.
    if (key === '$schema') return [];
    if (!name.includes('.')) {
      if (Object.hasOwn(KEYS, key)) {
        given.set(key as ConfigKey, child);
        return [];
      }
      if (keyNames.some(known => known.startsWith(`${key}.`))) {
        if (isObject(child)) return collect(child, here, given);
        const message = `holds keys of its own, but is ${describe(child)}.`;
        return [{ key, path: here, at: 'value', message, fix: `Write "${name}": { … }.` }];
      }
    }
    const near = nearestKey(key);
    const fix = near ? `Did you mean ${near}?` : 'Remove it.';
    return [{ key, path: here, at: 'key', message: 'is not a key of this config.', fix }];
  });
}

type Wrong = Pick<ConfigProblem, 'message' | 'fix'>;

function missingValue(key: ConfigKey): Wrong | undefined {
  const spec = keyOf(key);
  if (spec.kind !== 'text' || !spec.isRequired || spec.default !== '') return undefined;
  return { message: 'is missing.', fix: `Add it: ${spec.description}` };
}

function wrongValue(spec: AnyKey, value: unknown): Wrong | undefined {
  switch (spec.kind) {
    case 'boolean':
      return typeof value === 'boolean'
        ? undefined
        : {
            message: `must be true or false, but is ${describe(value)}.`,
            fix: `The default is ${spec.default}.`,
          };
    case 'choice':
      return typeof value === 'string' && Object.hasOwn(spec.choices, value)
        ? undefined
        : wrongChoice(Object.keys(spec.choices), value);
    case 'text':
      return wrongText(spec, value);
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
      return { message, fix: `The default is ${spec.default}.` };
    }
  }
}

function wrongChoice(choices: readonly string[], value: unknown): Wrong {
  const near = typeof value === 'string' ? nearest(value, choices) : undefined;
  const fix = near ? `Did you mean "${near}"?` : `Write one of them.`;
  return { message: `must be one of ${choices.join(', ')}, but is ${describe(value)}.`, fix };
}

function wrongText(spec: Extract<AnyKey, { kind: 'text' }>, value: unknown): Wrong | undefined {
  if (typeof value !== 'string')
    return { message: `must be a text, but is ${describe(value)}.`, fix: 'Put it in quotes.' };
  if (value === '' && spec.isRequired) return { message: 'is empty.', fix: spec.description };
  if (value.includes('\0'))
    return { message: 'contains a character that no name may have.', fix: 'Remove the \\u0000.' };
  if (spec.pattern !== undefined && !new RegExp(spec.pattern, 'u').test(value))
    return {
      message: `must be ${spec.patternMeaning}, but is ${describe(value)}.`,
      fix: `For example "${spec.default}".`,
    };
  return undefined;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function describe(value: unknown): string {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : typeof value;
}

/** The known key that a misspelt one most resembles: by its whole name, else by its last part (a key in a wrong place). */
function nearestKey(key: string): string | undefined {
  const groups = new Set(
    keyNames.flatMap(name => (name.includes('.') ? [name.slice(0, name.lastIndexOf('.'))] : [])),
  );
  const whole = nearest(key, [...keyNames, ...groups]);
  if (whole) return whole;
  const last = (name: string): string => name.slice(name.lastIndexOf('.') + 1);
  const near = nearest(last(key), keyNames.map(last));
  return near && keyNames.find(name => last(name) === near);
}

function nearest(word: string, candidates: readonly string[]): string | undefined {
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
