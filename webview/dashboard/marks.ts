/** What happened beside the steps: checkpoints, evaluations, resumptions, changes of the configuration. Knows nothing of drawing. */
import type { Event } from '../../src/core/events.ts';
import type { RunState } from '../../src/core/fold.ts';
import type { Mark } from '../charts/plot.ts';
import { percent } from '../shared/format.ts';
import { xOf, type Axis, type Scale } from './axis.ts';

/** A seam in a run's journal, which the fold of the run forgets. */
export interface Seam {
  kind: 'resume' | 'config';
  step: number;
  text: string;
}

/** The seams that these facts add to those before. A second start with other numbers is a changed configuration. */
export function growSeams(seams: Seam[], state: RunState, events: readonly Event[]): void {
  for (const event of events) {
    if (event.type === 'resumed')
      seams.push({ kind: 'resume', step: event.step, text: `Resumed from ${event.from}` });
    if (event.type !== 'run-started' || !state.run) continue;
    const changes = [
      ['steps', state.steps, event.steps],
      ['seed', state.run.seed, event.seed],
      ['device', state.run.device, event.device],
      ['tasks', state.run.tasks, event.tasks],
      ['parameters', state.run.parameters, event.parameters],
      ...toolsOf(state.run.tools, event.tools),
    ].flatMap(([name, before, after]) => (before === after ? [] : `${name} ${before} → ${after}`));
    if (changes.length > 0)
      seams.push({ kind: 'config', step: event.step, text: `Configuration changed: ${changes.join(', ')}` });
  }
}

/** By name, how each tool was described before and is now; one that is missing on a side is none there. */
const toolsOf = (
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): [name: string, before: string, after: string][] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].map(name => [
    `tool ${name}`,
    before[name] ?? 'none',
    after[name] ?? 'none',
  ]);

/** All marks, ascending. */
export function marksOf(
  state: RunState,
  seams: readonly Seam[],
  { axis, scale }: { axis: Axis; scale: Scale },
): Mark[] {
  const place = (step: number): { step: number; x: number } => ({ step, x: xOf(axis, scale, step) });
  const marks: Mark[] = [
    ...seams.map(({ kind, step, text }) => ({ kind, text, ...place(step) })),
    ...state.checkpoints.map(({ step, folder }) => ({
      kind: 'checkpoint' as const,
      text: `Checkpoint ${folder}`,
      ...place(step),
    })),
    ...state.evaluations.map(({ step, summary }) => ({
      kind: 'evaluation' as const,
      text: `Evaluation of ${summary.dataset}: ${percent(summary.accuracy)} right`,
      ...place(step),
    })),
  ];
  return marks.sort((a, b) => a.step - b.step);
}
