/** The facts of steps that measured now this and now that. Knows nothing of files. */
import type { Event, StepSummary } from '../../src/core/events.ts';
import { stepSummary } from './stepSummary.ts';

/** Steps that lack now this and now that, as those of imported and of resumed runs do. */
const changeOf = (step: number): Partial<StepSummary> => ({
  reward: {
    mean: step / 7,
    std: 0,
    p10: -1,
    p90: 1e300,
    parts: step % 3 === 0 ? {} : { [`p${step % 2}`]: step },
  },
  entropy:
    step % 5 === 0
      ? {}
      : { all: 1 / step, byTurn: [0.1, step % 2 === 0 ? null : step, ...(step > 30 ? [3] : [])] },
  stops: step < 20 ? { answer: step } : { length: step, answer: 0 },
  toolCalls: { total: step, byTool: step > 9 ? { search: step } : {}, latencyP95MsByTool: { search: step } },
});

function summaryOf(step: number): StepSummary {
  const { branches: _, kl: __, memory: ___, ...rest } = stepSummary();
  return { ...(step % 4 === 0 ? rest : stepSummary()), ...changeOf(step) };
}

/** `count` finished steps of 60 or so numbers, a checkpoint after every tenth, and a resumption from 40 after 45. */
export function variedJournal(count: number): Event[] {
  const events: Event[] = [];
  const tell = (step: number, fact: object): void =>
    void events.push({ seq: 3 * events.length, at: `at ${events.length}`, step, ...fact } as Event);
  tell(0, { type: 'run-started', format: { major: 1, minor: 0 }, run: 'r', steps: count, tools: {} });
  for (let step = 1; step <= count; step++) {
    tell(step, { type: 'step-finished', summary: summaryOf(step) });
    if (step % 10 === 0) tell(step, { type: 'checkpoint-saved', folder: `step-${step}`, hash: '0' });
    if (step === 45) tell(40, { type: 'resumed', from: 'step-40' });
  }
  return events;
}
