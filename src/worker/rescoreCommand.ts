/** `rescore RUN`: stored trajectories under other reward settings. Changes nothing in the run, and draws nothing. */
import { resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Config } from '../core/config.ts';
import { toolTags } from '../core/configToolRules.ts';
import type { RewardConfig } from '../core/configTools.ts';
import { change, plain } from '../core/figures.ts';
import { rescoreStep, summed, type Rescored, type RescoredGroup } from '../core/rescore.ts';
import { FailureError, type Tree } from '../core/types.ts';
import type { Run } from '../run/reader.ts';
import { readRewardFile } from '../run/rewardFile.ts';
import { hasSwitch, textOption, UsageError, type Call, type ExitCode, type Io } from './commandLine.ts';
import { rewardSettings } from './gather.ts';
import { interruptible } from './interruptible.ts';
import { judgeAll, openReward } from './judges.ts';
import { ownRunOf } from './launch.ts';
import { creditSettings } from './learn.ts';
import type { OwnReward } from './own/reward.ts';
import { oneLine } from './show.ts';
import { unlessAborted } from './unlessAborted.ts';

export async function rescoreCommand(call: Call, io: Io): Promise<ExitCode> {
  const run = ownRunOf(call);
  const file = textOption(call, 'reward');
  if (file === undefined)
    throw new UsageError('--reward is needed: a JSON file with reward keys, or a config.');
  const range = rangeOf(textOption(call, 'steps') ?? 'all');
  const reward = readRewardFile(resolve(file), run.manifest.config);
  const rescored = await interruptible(io, ({ signal, progress }) =>
    rescore(run, reward, {
      ...range,
      signal,
      progress: (done, steps) => progress(`step ${done} of ${steps}`),
    }),
  );
  io.out.write(`${showRescored(rescored).join('\n')}\n`);
  if (hasSwitch(call, 'json')) io.out.write(`${JSON.stringify(rescored)}\n`);
  return 0;
}

export interface RescoreRequest {
  /** Steps, both included. */
  first: number;
  last: number;
  signal: AbortSignal;
  progress(done: number, steps: number): void;
}

/** Judges the stored trees of the steps again and sets both rewards side by side. Rejects with a FailureError where it cannot. */
export async function rescore(
  run: Run,
  reward: RewardConfig,
  { first, last, signal, progress }: RescoreRequest,
): Promise<Rescored> {
  const { config } = run.manifest;
  const entries = (await run.trees()).filter(({ step }) => step >= first && step <= last);
  const steps = [...new Set(entries.map(({ step }) => step))];
  if (steps.length === 0)
    throw new FailureError({
      where: 'store',
      message: `${run.folder} has no trees of ${last === Infinity ? 'any step' : `steps ${first}-${last}`}.`,
      fix: 'Name steps whose trees were kept.',
    });
  const own = await openReward(reward);
  try {
    const groups: RescoredGroup[] = [];
    for (const [done, step] of steps.entries()) {
      // Files are read, and most rewards computed, without a pause in which a signal could be heard.
      await setImmediate();
      const ids = entries.filter(entry => entry.step === step).map(({ id }) => id);
      const trees = await Promise.all(ids.map(id => run.tree(id)));
      const scoring = rescoreTrees(trees, { ...config, reward }, own);
      groups.push(...(await unlessAborted(scoring, signal, calledOff())));
      progress(done + 1, steps.length);
    }
    return summed(groups);
  } finally {
    await own?.close();
  }
}

const calledOff = (): FailureError =>
  new FailureError({ where: 'reward', message: 'Scoring again was called off.' });

async function rescoreTrees(
  trees: readonly Tree[],
  config: Config,
  own?: OwnReward,
): Promise<RescoredGroup[]> {
  const settings = { ...rewardSettings(config), tools: toolTags(config) };
  const changed = trees.map(tree => structuredClone(tree));
  const failures = await Promise.all(changed.map(tree => judgeAll(tree, settings, own)));
  const [failure] = failures.flat();
  if (failure) throw new FailureError(failure);
  return rescoreStep(
    trees,
    changed.map(({ paths }) => paths.map(({ reward }) => reward!)),
    { credit: creditSettings(config), dropsFlat: config.algorithm.filter !== 'none' },
  );
}

function rangeOf(text: string): { first: number; last: number } {
  if (text === 'all') return { first: 0, last: Infinity };
  const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  const [first, last] = [Number(from), Number(to)];
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last) || first > last)
    throw new UsageError(`--steps must be A-B, such as 10-20, a step or all, not ${JSON.stringify(text)}.`);
  return { first, last };
}

/** Groups that a terminal lists, and the least change of an advantage that shows in its three digits. */
const LISTED = 20;
const SHOWN_SHIFT = 0.0005;

/** The outcome as lines for a terminal. */
function showRescored(rescored: Rescored): string[] {
  const { steps, trees, trajectories, meanBefore, meanAfter, flips, gained, lost, signChanges } = rescored;
  const changed = rescored.groups.filter(
    group => group.shift >= SHOWN_SHIFT || group.flips > 0 || group.variance !== 'unchanged',
  );
  const head = [
    `${trajectories} trajectories of ${trees} groups in ${steps} steps, scored again; nothing in the run was changed`,
    `mean reward ${change(meanBefore, 3)} → ${change(meanAfter, 3)}`,
    `${flips} pairs change their order, ${signChanges} advantages their sign; ${gained} groups gain variance, ${lost} lose it`,
  ];
  if (changed.length === 0) return [...head, 'No advantage would have been another.'];
  const rest = changed.length - LISTED;
  return [
    ...head,
    'tree     mean before   after   flips  signs  variance    largest change of advantage',
    ...changed.slice(0, LISTED).map(groupRow),
    ...(rest > 0 ? [`and ${rest} more groups; --json lists all`] : []),
  ];
}

const groupRow = (group: RescoredGroup): string =>
  [
    group.tree.padEnd(8),
    change(group.meanBefore, 3).padStart(12),
    change(group.meanAfter, 3).padStart(8),
    String(group.flips).padStart(8),
    String(group.signChanges).padStart(7),
    `  ${group.variance.padEnd(10)}`,
    plain(group.shift).padStart(6),
    `  ${oneLine(group.question, 60)}`,
  ].join('');
