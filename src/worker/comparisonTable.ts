/** A comparison of runs as the lines of a table. Knows nothing of how its numbers are made. */
import { change, percent, plain, points, ranged, whole } from '../core/figures.ts';
import { REACHED, type Comparison, type ConfigResult } from './comparison.ts';

/** The comparison as lines of a table. */
export function tableOf({ baseline, target, equalCalls, curve, left, results }: Comparison): string[] {
  const heads = [
    'config',
    'seeds',
    'right',
    'greedy',
    'reward',
    'tool calls',
    `right less ${baseline}`,
    `calls to ${percent(target)}`,
    'share',
    `right to ${whole(equalCalls)} calls`,
    `less ${baseline}`,
  ];
  const rows = results.map(result => [
    result.config,
    String(result.seeds.length),
    ranged(result.accuracy),
    result.greedy === undefined ? '–' : percent(result.greedy),
    ranged(result.reward, value => change(value, 3)),
    ranged(result.toolCalls, whole),
    result.config === baseline ? '–' : ranged(result.versusBaseline, points),
    reachedText(result),
    result.shareOfBaseline === undefined ? '–' : plain(result.shareOfBaseline, 2),
    ranged(result.atEqualCalls),
    result.config === baseline ? '–' : ranged(result.atEqualCallsVersusBaseline, points),
  ]);
  const widths = heads.map((head, i) => Math.max(head.length, ...rows.map(row => row[i]!.length)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('   ');
  const { trajectories } = results[0]!;
  const isEqual = results.every(result => result.trajectories === trajectories);
  return [
    line(heads),
    ...rows.map(line),
    results.every(({ seeds }) => seeds.length === 1)
      ? 'In brackets: 95 % intervals over tasks (bootstrap); one seed does not tell how far another would be.'
      : 'In brackets: 95 % intervals over seeds and tasks (Student’s t); two or three seeds say little, so that they are wide.',
    `Calls to ${percent(target)}, at which ${percent(REACHED)} of the rise of ${baseline} is done: by ${curve} accuracy, on the mean of the seeds’ curves.`,
    `Right to ${whole(equalCalls)} calls, which every run made: mean height of the curves up to there.`,
    ...(left === 0
      ? []
      : [`${whole(left)} held-out tasks are left out, because not all runs were evaluated on them.`]),
    isEqual
      ? `Every run has ${whole(trajectories)} trajectories.`
      : `Trajectories differ: ${results.map(result => `${result.config} ${whole(result.trajectories)}`).join(', ')}.`,
  ];
}

function reachedText({ callsToTarget, meanCallsToTarget }: ConfigResult): string {
  const reached = callsToTarget.filter(calls => calls !== null).length;
  const calls = meanCallsToTarget === undefined ? 'never' : whole(meanCallsToTarget);
  return `${calls} (${reached} of ${callsToTarget.length} seeds)`;
}
