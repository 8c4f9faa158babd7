/** What became of the same tasks in two evaluations: gained, lost, and by how much. Knows nothing of how it is shown. */
import { estimate, type Estimate } from './bootstrap.ts';
import { measuredOf, type EvaluationRecord, type TaskOutcome, type TrajectoryOutcome } from './evaluation.ts';
import { streamKey } from './random.ts';

/** A task that was right in one of two evaluations only, with a trajectory of each that shows it. */
export interface Flip {
  /** Index of the task in the evaluation that is looked at, and in the other. */
  task: number;
  otherTask: number;
  /** Index of the trajectory in its task. */
  trajectory: number;
  otherTrajectory: number;
}

export interface Flips {
  /** Wrong in the other, right now; and the reverse. */
  gained: Flip[];
  lost: Flip[];
  bothRight: number;
  bothWrong: number;
  /** Tasks that only one of them has, by name and question. */
  unmatched: number;
  /** `greedy`: by the greedy trajectories of both; `majority`: right where more than half of the samples are. */
  by: 'greedy' | 'majority';
  /** Accuracy less the other's over the tasks of both; absent where there are none. */
  difference?: Estimate;
}

/** Sets two evaluations side by side, task by task. */
export function flipsOf(record: EvaluationRecord, other: EvaluationRecord): Flips {
  const places = new Map(keysOf(other).map((key, index) => [key, index]));
  const pairs = keysOf(record).flatMap((key, task) => {
    const otherTask = places.get(key);
    return otherTask === undefined ? [] : [{ task, otherTask }];
  });
  const hasGreedy = ({ outcomes }: EvaluationRecord): boolean =>
    outcomes.every(({ trajectories }) => trajectories.some(({ greedy }) => greedy));
  const by = hasGreedy(record) && hasGreedy(other) ? 'greedy' : 'majority';
  const flips: Flips = {
    gained: [],
    lost: [],
    bothRight: 0,
    bothWrong: 0,
    unmatched: record.outcomes.length + other.outcomes.length - 2 * pairs.length,
    by,
  };
  for (const { task, otherTask } of pairs) {
    const [now, then] = [record.outcomes[task]!, other.outcomes[otherTask]!];
    const isRight = isRightBy(now, by);
    if (isRight === isRightBy(then, by)) flips[isRight ? 'bothRight' : 'bothWrong']++;
    else
      flips[isRight ? 'gained' : 'lost'].push({
        task,
        otherTask,
        trajectory: shows(now, isRight, by),
        otherTrajectory: shows(then, !isRight, by),
      });
  }
  if (pairs.length > 0) {
    const differences = pairs.map(
      ({ task, otherTask }) => accuracyOf(record.outcomes[task]!) - accuracyOf(other.outcomes[otherTask]!),
    );
    flips.difference = estimate([differences], streamKey('flips', record.summary.id, other.summary.id));
  }
  return flips;
}

/** [task] its name and question, and how many of the same came before it: a file of tasks may say one twice. */
function keysOf({ outcomes }: EvaluationRecord): string[] {
  const times = new Map<string, number>();
  return outcomes.map(({ task, question }) => {
    const key = JSON.stringify([task, question]);
    const before = times.get(key) ?? 0;
    times.set(key, before + 1);
    return `${key} ${before}`;
  });
}

/** Share of the task's measured trajectories that are right. */
export function accuracyOf({ trajectories }: TaskOutcome): number {
  const measured = measuredOf(trajectories);
  return measured.filter(({ correct }) => correct).length / measured.length;
}

const isOf = (by: Flips['by'], trajectories: readonly TrajectoryOutcome[]): readonly TrajectoryOutcome[] =>
  by === 'greedy' ? trajectories.filter(({ greedy }) => greedy) : measuredOf(trajectories);

function isRightBy({ trajectories }: TaskOutcome, by: Flips['by']): boolean {
  const counted = isOf(by, trajectories);
  return 2 * counted.filter(({ correct }) => correct).length > counted.length;
}

/** Index of the first trajectory that counts and is right, or wrong. */
function shows({ trajectories }: TaskOutcome, isRight: boolean, by: Flips['by']): number {
  const counted = isOf(by, trajectories);
  return trajectories.indexOf(counted.find(({ correct }) => correct === isRight) ?? counted[0]!);
}
