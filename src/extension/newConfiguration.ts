/** Writes the text of a new run configuration, with each key's sentence from the table of keys. Knows nothing of files or editors. */
import { defaults } from '../core/config.ts';
import type { ConfigKey, Preset } from '../core/configKeys.ts';
import { branches, exampleOf, KEYS, keyOf } from '../core/configKeys.ts';
import { counted, whole } from '../core/figures.ts';

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
  'rollout.maxPromptTokens',
  'rollout.maxResponseTokens',
  'tools.callLimit',
  'tools.python.enabled',
  'tools.search.corpus',
  'tools.search.url',
  'algorithm.updatesPerStep',
  'optimizer.learningRate',
  'evaluation.tasks',
  'checkpoint.every',
];

/** Of these, those that are only spelt out where an answer asks for them. */
const ASKED: ReadonlySet<ConfigKey> = new Set(['tools.search.url', 'rollout.maxPromptTokens']);

/** What the user chose, by key; the keys are those that a new configuration can spell out. */
export type Answers = Partial<Record<ConfigKey, unknown>>;

/** Stand-ins for what only the user knows; the run refuses files that are not there by name. */
const STAND_INS: Answers = {
  'policy.path': exampleOf('policy.path'),
  'data.train': exampleOf('data.train'),
  'data.heldOut': exampleOf('data.heldOut'),
  'evaluation.tasks': 100,
};

export const PRESET_SENTENCES: Readonly<Record<Preset, string>> = KEYS.preset.choices;

/** JSON with comments: every shown key under its sentence, with the answer or the preset's value. */
export function configurationText(preset: Preset, name: string, answers: Answers = {}): string {
  const values: Answers = { ...valuesOf(defaults(preset)), ...STAND_INS, ...answers, preset, name };
  const shown = SHOWN.filter(key => {
    // Where no trajectory branches, all start from the prompt, however many there are.
    if (key === 'rollout.initialRollouts' && !branches(preset)) return false;
    return !ASKED.has(key) || Object.hasOwn(answers, key);
  });
  const head =
    '// A training run of Branchpoint. Completion lists all keys; paths are relative to this file.';
  return `${head}\n{\n${groupLines({ shown, values }, '', 1).join('\n')}\n}\n`;
}

const valuesOf = (config: unknown): Answers =>
  Object.fromEntries(SHOWN.map(key => [key, valueAt(config, key)]));

/** The lines of the shown keys below a group ('' for the root), in their order. */
function groupLines(
  text: { shown: readonly ConfigKey[]; values: Answers },
  group: string,
  depth: number,
): string[] {
  const below = text.shown.filter(key => key.startsWith(group));
  const names = [...new Set(below.map(key => key.slice(group.length).split('.')[0]!))];
  const space = '  '.repeat(depth);
  return names.flatMap((name, i) => {
    const comma = i === names.length - 1 ? '' : ',';
    const key = below.find(key => key === `${group}${name}`);
    if (key === undefined)
      return [
        `${space}"${name}": {`,
        ...groupLines(text, `${group}${name}.`, depth + 1),
        `${space}}${comma}`,
      ];
    return [
      `${space}// ${keyOf(key).description}`,
      `${space}"${name}": ${JSON.stringify(text.values[key])}${comma}`,
    ];
  });
}

const valueAt = (config: unknown, key: ConfigKey): unknown =>
  key.split('.').reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], config);

/** How much one step and the whole run take; which of them is right depends on the policy and on patience. */
export interface Budget {
  label: string;
  detail: string;
  answers: Answers;
}

const budget = (
  label: string,
  detail: string,
  [tasks, group, updates, steps]: readonly [number, number, number, number],
): Budget => ({
  label,
  detail: `${detail} ${tasks} tasks × ${group} = ${whole(tasks * group)} trajectories a step, ${counted(updates, 'update')}, ${steps} steps.`,
  answers: {
    'rollout.tasksPerStep': tasks,
    'rollout.groupSize': group,
    'rollout.initialRollouts': group / 2,
    'algorithm.updatesPerStep': updates,
    steps,
  },
});

export const BUDGETS: readonly Budget[] = [
  budget('Small', 'For a small policy on a laptop, or a first try.', [8, 8, 1, 40]),
  budget('Medium', 'For hours on one machine.', [32, 16, 4, 100]),
  budget('As published', 'The paper’s, for large machines.', [128, 16, 8, 100]),
];

/** Limits of prompt and response that fit the policy's context; none where the defaults do. */
export function lengthsFor(contextLength: number): Answers {
  const { maxPromptTokens, maxResponseTokens } = defaults().rollout;
  if (maxPromptTokens + maxResponseTokens <= contextLength) return {};
  const prompt = Math.min(maxPromptTokens, Math.max(1, Math.floor(contextLength / 4)));
  return { 'rollout.maxPromptTokens': prompt, 'rollout.maxResponseTokens': contextLength - prompt };
}

/** Whether a file's name says that it holds what is not trained on. */
export const isHeldOutName = (path: string): boolean =>
  /(^|[^a-z])(held[-_]?out|test|valid(ation)?|eval|dev)([^a-z]|$)/i.test(path);

/** Whether a file's name says that it holds documents to search, not tasks. */
export const isCorpusName = (path: string): boolean =>
  /(^|[^a-z])(corpus|documents|docs|wiki|pages)([^a-z]|$)/i.test(path);

/** Why a run cannot be called so; undefined where it can. Run folders are named after it. */
export function nameProblem(name: string): string | undefined {
  const { pattern = '', patternMeaning = 'a name' } = KEYS.name;
  return new RegExp(pattern, 'u').test(name) ? undefined : `A name must be ${patternMeaning}.`;
}
