/** What a configuration amounts to, as short texts behind its keys. Knows nothing of VS Code or of who runs anything. */
import type { Config } from '../core/config.ts';
import { placeOfKey } from '../run/configFile.ts';
import type { ExaminedConfig } from '../run/configProblems.ts';
import { memoryLimit, memoryOf } from '../run/plan.ts';
import { sizeText } from '../run/usage.ts';
import type { DryRun } from './dryRuns.ts';

export interface ConfigHint {
  /** In UTF-16 units of the text: behind this the label stands. */
  offset: number;
  label: string;
  tooltip: string;
}

/** None where the text has mistakes of its own; `given` are the keys that it writes itself. */
export function configHints(
  { config, shape }: ExaminedConfig,
  text: string,
  dryRun: (DryRun & { isOfThisText: boolean }) | undefined,
): ConfigHint[] {
  if (config === undefined) return [];
  const said: (Said & { keys: readonly string[] })[] = [
    { keys: ['rollout.tasksPerStep', 'rollout', 'preset'], ...batch(config) },
    { keys: ['algorithm.updatesPerStep', 'algorithm', 'rollout.groupSize', 'preset'], ...updates(config) },
  ];
  if (shape)
    said.push({ keys: ['memoryMB', 'rollout.maxResponseTokens', 'policy.path'], ...memory(config, shape) });
  if (dryRun) said.push({ keys: ['steps', 'preset', 'policy.path'], ...time(config, dryRun) });
  return said.flatMap(({ keys, ...found }) => {
    const offset = placeIn(text, keys);
    return offset === undefined ? [] : [{ offset, ...found }];
  });
}

/** Labels of more than 43 characters are cut by the editor. */
type Said = Pick<ConfigHint, 'label' | 'tooltip'>;

/** Behind the first of the keys that the text has; behind the opening brace where it has none. */
function placeIn(text: string, keys: readonly string[]): number | undefined {
  for (const key of keys) {
    const found = placeOfKey(text, key);
    const name = JSON.stringify(key.split('.').at(-1));
    const isGroup = text.slice(found.offset, found.offset + 1) === '{';
    // A key that is not there is placed at what holds it: only the value itself stands behind its own name.
    const before = text.slice(0, found.offset).trimEnd();
    if (!before.endsWith(':') || !before.slice(0, -1).trimEnd().endsWith(name)) continue;
    return isGroup ? found.offset + 1 : found.offset + found.length;
  }
  const brace = text.indexOf('{');
  return brace < 0 ? undefined : brace + 1;
}

function batch({ rollout }: Config): Said {
  const { tasksPerStep, groupSize, initialRollouts } = rollout;
  return {
    label: `→ ${tasksPerStep} × ${groupSize} = ${counted(tasksPerStep * groupSize)} trajectories a step`,
    tooltip: `${tasksPerStep} tasks, ${groupSize} trajectories of each (M), ${Math.min(groupSize, initialRollouts)} of them from the prompt (N).`,
  };
}

function updates({ rollout, algorithm }: Config): Said {
  const { updatesPerStep } = algorithm;
  const each = (rollout.tasksPerStep * rollout.groupSize) / updatesPerStep;
  return {
    label: `→ ${updatesPerStep} ${updatesPerStep === 1 ? 'update' : 'updates'} of ${counted(each)} trajectories`,
    tooltip: `${counted(rollout.tasksPerStep / updatesPerStep)} tasks a mini-batch.`,
  };
}

function memory(config: Config, shape: NonNullable<ExaminedConfig['shape']>): Said {
  const { tokens, kept, again } = memoryOf(shape, config);
  const limit = memoryLimit(config);
  return {
    label: `→ up to ${sizeText(kept <= limit ? kept : Math.min(again, limit))} of ${sizeText(limit)} in training`,
    tooltip: `Trees as large as they may be put ${counted(tokens)} tokens together, which take ${sizeText(kept)} at the peak of training, or ${sizeText(again)} where activations are computed again. An estimate.`,
  };
}

function time(
  { steps }: Config,
  { seconds, bytes, at, isOfThisText, isIdle }: DryRun & { isOfThisText: boolean },
): Said {
  const held = bytes === undefined ? '' : `, ${sizeText(bytes)}`;
  const changed = isOfThisText ? '' : ' The configuration has changed since.';
  const idle = isIdle ? ' It made no update, so that it took less time than other steps will.' : '';
  return {
    label: `${isOfThisText ? 'dry run' : 'earlier dry run'}: ${secondsText(seconds)} a step, ${durationText(seconds * steps)}${held}`,
    tooltip: `Seconds of a step, time of all ${counted(steps)} and memory, as the dry run of ${new Date(at).toLocaleString()} measured.${changed}${idle}`,
  };
}

const counted = (count: number): string => count.toLocaleString('en-US', { maximumFractionDigits: 1 });

const secondsText = (seconds: number): string =>
  seconds < 10 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds)} s`;

/** About how long, in the unit that fits. */
function durationText(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  return seconds < 48 * 3600 ? `${(seconds / 3600).toFixed(1)} h` : `${(seconds / 86_400).toFixed(1)} days`;
}
