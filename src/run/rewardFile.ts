/** Reads other reward settings for a run, as a file of reward keys or as a whole config. Knows nothing of what a reward is. */
import { dirname, relative, resolve } from 'node:path';
import { getNodeValue, parseTree, type ParseError } from 'jsonc-parser';
import { problemText, validate, type Config } from '../core/config.ts';
import type { RewardConfig } from '../core/configTools.ts';
import { isObject } from '../core/configValues.ts';
import { FailureError } from '../core/types.ts';
import { placeOfKey, readText } from './configFile.ts';
import { mapPaths } from './manifest.ts';

/**
 * The run's reward settings with those that the file gives instead, or those of a whole config alone; its paths are relative to it.
 * Throws a FailureError that names file, line and key where it cannot be read.
 */
export function readRewardFile(file: string, config: Config): RewardConfig {
  const text = readText(file, 'Name a JSON file with reward keys, or a config.');
  const given = objectOf(text, file);
  const isConfig = ['reward', 'policy', 'data'].some(key => Object.hasOwn(given, key));
  const reward = isConfig ? (given['reward'] ?? {}) : { ...config.reward, ...given };
  const checked = validate({ ...config, reward });
  if ('config' in checked) return mapPaths(checked.config, path => resolve(dirname(file), path)).reward;
  const [problem] = checked.problems as [(typeof checked.problems)[0]];
  const { key, fix } = problem;
  const place = placeOfKey(text, isConfig ? key : key.replace(/^reward\./, ''));
  throw refusal(file, place, problemText(problem), fix);
}

function objectOf(text: string, file: string): Record<string, unknown> {
  const errors: ParseError[] = [];
  const clean = text.replace(/^\uFEFF/, ' ');
  const root = parseTree(clean, errors, { allowTrailingComma: true, disallowComments: false });
  const value: unknown = root && errors.length === 0 ? getNodeValue(root) : undefined;
  if (isObject(value)) return value as Record<string, unknown>;
  const before = clean.slice(0, errors[0]?.offset ?? 0).split('\n');
  const place = { line: before.length, column: before.at(-1)!.length + 1 };
  throw refusal(
    file,
    place,
    'is not a JSON object.',
    'Write { "accuracy": "exact" }, say, or a whole config.',
  );
}

function refusal(
  file: string,
  place: { line: number; column: number } | undefined,
  message: string,
  fix: string,
): FailureError {
  const at = place ? `:${place.line}:${place.column}` : '';
  return new FailureError({
    where: 'config',
    message: `${relative(process.cwd(), file) || file}${at} ${message}`,
    fix,
  });
}
