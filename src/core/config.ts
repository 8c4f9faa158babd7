/** A run's configuration: presets, resolving and checking. Knows nothing of files, lines or editors. */
import type { Config, ConfigKey, ConfigValue, Preset } from './configKeys.ts';
import { branches, isRequired, KEYS, PRESETS, keyNames, keyOf } from './configKeys.ts';
import { impossible } from './configRules.ts';
import { remove, type Remedy } from './configRemedy.ts';
import {
  completed,
  describe,
  isObject,
  missingPart,
  nearest,
  wrongParts,
  type Wrong,
} from './configValues.ts';

export type { Config, ConfigKey, ConfigValue, Preset } from './configKeys.ts';
export { editorSchema, jsonSchema } from './configSchema.ts';

/** What is wrong with one place of a config. */
export interface ConfigProblem {
  /** Dotted name, as the reader knows it; '' for the whole config. */
  key: string;
  /** The same as steps from the root, for finding the place in the text. */
  path: readonly string[];
  /** Whether the key itself is wrong, or its value. */
  at: 'key' | 'value';
  code: 'not-an-object' | 'impossible' | Wrong['what'];
  message: string;
  fix: string;
  /** Changes that each mend it, the likeliest first; empty where only the user can know. */
  remedies: readonly Remedy[];
}

/** The problem as one sentence about its key: a message that begins with a verb goes on from the key, another stands by itself. */
export const problemText = ({ key, message }: Pick<ConfigProblem, 'key' | 'message'>): string =>
  key === '' ? message : `${key}${/^[a-z]/.test(message) ? '' : ':'} ${message}`;

/** Values by dotted key: what a config says itself, without preset and defaults. */
export type GivenValues = ReadonlyMap<ConfigKey, unknown>;

/** The config that says only its preset. Its required keys are '' and so it is not yet valid. */
export const defaults = (preset: Preset = 'arpo'): Config => resolve(new Map([['preset', preset]]));

/** A valid config with every key present, or all that is wrong with it. */
export function validate(value: unknown): { config: Config } | { problems: ConfigProblem[] } {
  if (!isObject(value)) {
    const message = `A config is a JSON object; this is ${describe(value)}.`;
    return {
      problems: [
        {
          ...{ key: '', path: [], at: 'value', code: 'not-an-object', message },
          ...{ fix: 'Write { "policy": …, "data": … }.', remedies: [] },
        },
      ],
    };
  }
  const given = new Map<ConfigKey, unknown>();
  const problems = collect(value, [], given);
  for (const key of keyNames) {
    const wrong = given.has(key) ? wrongParts(keyOf(key), given.get(key)) : missingValue(key);
    problems.push(...wrong.map(one => problemOf(key, one)));
  }
  if (problems.length > 0) return { problems };
  const config = resolve(given);
  const broken = impossible(config, given).map(({ keys, ...what }): ConfigProblem => {
    // The place is the first of the keys that the config says itself; the others come from its preset.
    const key = keys.find(candidate => given.has(candidate)) ?? keys[0]!;
    return { key, path: key.split('.'), at: 'value', code: 'impossible', ...what };
  });
  return broken.length > 0 ? { problems: broken } : { config };
}

/** What is wrong with a value as a problem of the config, with what would mend it. */
function problemOf(key: ConfigKey, { part, what, name, values = [], message, fix }: Wrong): ConfigProblem {
  const path = [...key.split('.'), ...part];
  const isNeeded = part.length === 0 && what !== 'unknown-key' && isRequired(key);
  const remedies: Remedy[] = [
    ...(name === undefined ? [] : [{ kind: 'rename' as const, path, to: [...path.slice(0, -1), name] }]),
    ...values.map((value): Remedy => ({ kind: 'set', path, value })),
    ...(isNeeded || what === 'missing-key' ? [] : [{ kind: 'remove' as const, path }]),
  ];
  const at = what === 'unknown-key' ? 'key' : 'value';
  return { key: path.join('.'), path, at, code: what, message, fix, remedies };
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
  for (const key of keyNames)
    put(config, key.split('.'), completed(keyOf(key), given.get(key) ?? follows.get(key) ?? value(key)));
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
        const fix = `Write "${name}": { … }.`;
        return [{ key, path: here, at: 'value', code: 'wrong-value', message, fix, remedies: [remove(key)] }];
      }
    }
    const near = nearestKey(key);
    const fix = near ? `Did you mean ${near}?` : 'Remove it.';
    const remedies: Remedy[] = [
      ...(near ? [{ kind: 'rename' as const, path: here, to: near.split('.') }] : []),
      { kind: 'remove', path: here },
    ];
    const message = 'is not a key of this config.';
    return [{ key, path: here, at: 'key', code: 'unknown-key', message, fix, remedies }];
  });
}

function missingValue(key: ConfigKey): Wrong[] {
  return isRequired(key) ? [missingPart([], keyOf(key))] : [];
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
