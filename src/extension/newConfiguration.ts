/** Writes the text of a new run configuration, with each key's sentence from the table of keys. Knows nothing of files or editors. */
import { defaults } from '../core/config.ts';
import type { ConfigKey, Preset } from '../core/configKeys.ts';
import { KEYS, keyOf } from '../core/configKeys.ts';

/** Keys that a new configuration spells out: what most runs change first. The others have their defaults. */
const SHOWN: readonly ConfigKey[] = [
  'preset',
  'name',
  'seed',
  'steps',
  'device',
  'runs',
  'policy.path',
  'data.train',
  'data.heldOut',
  'rollout.tasksPerStep',
  'rollout.groupSize',
  'rollout.initialRollouts',
  'rollout.temperature',
  'rollout.maxResponseTokens',
  'tools.callLimit',
  'tools.python.enabled',
  'tools.search.corpus',
  'optimizer.learningRate',
  'evaluation.tasks',
  'checkpoint.every',
];

/** Stand-ins for what only the user knows; the run refuses files that are not there by name. */
const STAND_INS: Partial<Record<ConfigKey, string | number>> = {
  'policy.path': 'policy',
  'data.train': 'tasks/train.parquet',
  'data.heldOut': 'tasks/held-out.parquet',
  'evaluation.tasks': 100,
};

export const PRESET_SENTENCES: Readonly<Record<Preset, string>> = KEYS.preset.choices;

/** JSON with comments: every shown key under its sentence, with the preset's value. */
export function configurationText(preset: Preset, name: string): string {
  const config = { ...defaults(preset), name };
  const head =
    '// A training run of Branchpoint. Completion lists all keys; paths are relative to this file.';
  return `${head}\n{\n${groupLines(config, '', 1).join('\n')}\n}\n`;
}

/** The lines of the shown keys below a group ('' for the root), in the order of SHOWN. */
function groupLines(config: unknown, group: string, depth: number): string[] {
  const below = SHOWN.filter(key => key.startsWith(group));
  const names = [...new Set(below.map(key => key.slice(group.length).split('.')[0]!))];
  const space = '  '.repeat(depth);
  return names.flatMap((name, i) => {
    const comma = i === names.length - 1 ? '' : ',';
    const key = below.find(key => key === `${group}${name}`);
    if (key === undefined)
      return [
        `${space}"${name}": {`,
        ...groupLines(config, `${group}${name}.`, depth + 1),
        `${space}}${comma}`,
      ];
    return [
      `${space}// ${keyOf(key).description}`,
      `${space}"${name}": ${JSON.stringify(STAND_INS[key] ?? valueAt(config, key))}${comma}`,
    ];
  });
}

const valueAt = (config: unknown, key: ConfigKey): unknown =>
  key.split('.').reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], config);

/** Why a run cannot be called so; undefined where it can. Run folders are named after it. */
export function nameProblem(name: string): string | undefined {
  const { pattern = '', patternMeaning = 'a name' } = KEYS.name;
  return new RegExp(pattern, 'u').test(name) ? undefined : `A name must be ${patternMeaning}.`;
}
