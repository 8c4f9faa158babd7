/** Numbers that papers report: of evaluations, and of how a step's batch is cut. Knows nothing of how they were measured. */

/** pass@k from n passes of which c are right: 1 − C(n−c, k)/C(n, k); throws where k of n cannot be drawn. */
export function passAtK(passes: number, correct: number, k: number): number {
  if (!(k >= 1 && k <= passes && correct >= 0 && correct <= passes))
    throw new Error(`pass@${k} of ${passes} passes with ${correct} right does not exist.`);
  let allWrong = 1;
  for (let i = 0; i < k; i++) allWrong *= Math.max(0, passes - correct - i) / (passes - i);
  return 1 - allWrong;
}

/** upstream's tool productivity, in percent: 100·acc·c̄/(c̄ + 0.1) with c̄ calls of a sample on average. */
export const toolProductivity = (accuracy: number, callsPerSample: number): number =>
  (100 * accuracy * callsPerSample) / (callsPerSample + 0.1);

/** How one step's trajectories are cut into updates. */
export interface BatchArithmetic {
  trajectories: number;
  updates: number;
  /** Trajectories of one update, and of it on each device. */
  rowsPerUpdate: number;
  rowsPerDevice: number;
}

/** verl's arithmetic: tasks and updates of a step, trajectories of a task, devices; throws where something does not divide. */
export function batchArithmetic(
  step: { tasksPerStep: number; groupSize: number; updatesPerStep: number },
  devices = 1,
): BatchArithmetic {
  const trajectories = step.tasksPerStep * step.groupSize;
  const rowsPerUpdate = trajectories / step.updatesPerStep;
  const rowsPerDevice = rowsPerUpdate / devices;
  if (!Number.isInteger(step.tasksPerStep / step.updatesPerStep))
    throw new Error(
      `${step.tasksPerStep} tasks cannot be split evenly among ${step.updatesPerStep} updates.`,
    );
  if (!Number.isInteger(rowsPerDevice))
    throw new Error(
      `${rowsPerUpdate} trajectories of an update cannot be split evenly among ${devices} devices.`,
    );
  return { trajectories, updates: step.updatesPerStep, rowsPerUpdate, rowsPerDevice };
}
