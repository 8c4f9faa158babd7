/** Shows a run in a terminal while it happens. Knows nothing of training: it is told facts and asks for the status. */
import type { Event, EventOf, EvaluationSummary } from '../core/events.ts';
import { counted, percent } from '../core/figures.ts';
import type { WorkerStatus } from '../protocol/verbs.ts';
import { STEP_HEADS, stepRow } from './show.ts';

export interface Screen {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

export interface Progress {
  /** A line that stays. */
  say(line: string): void;
  tell(event: Event): void;
  /** Ends the updating line. */
  close(): void;
}

const REDRAW_MS = 200;

/** In a terminal one line is redrawn with the phase; elsewhere only lasting lines are written. */
export function makeProgress(screen: Screen, status: () => WorkerStatus): Progress {
  const counts = { segments: 0, branches: 0, calls: 0 };
  const seconds: number[] = [];
  let isTableOpen = false;
  let shown = '';
  const clear = (): void => {
    if (shown !== '') screen.write('\r\u001b[K');
    shown = '';
  };
  const say = (line: string): void => {
    clear();
    screen.write(`${line}\n`);
  };
  const redraw = (): void => {
    const line = liveLine(status(), counts, seconds).slice(0, (screen.columns || 80) - 1);
    if (line === shown) return;
    screen.write(`\r\u001b[K${line}`);
    shown = line;
  };
  const timer = screen.isTTY === true ? setInterval(redraw, REDRAW_MS) : undefined;
  timer?.unref();
  const lines = (event: Event): string[] => {
    if (event.type !== 'step-finished') return lastingLines(event);
    seconds.push(event.summary.seconds?.total ?? NaN);
    const head = isTableOpen ? [] : [`${STEP_HEADS}     left`];
    isTableOpen = true;
    const left = duration((status().steps - event.step) * recentMean(seconds));
    return [...head, stepRow(event.step, status().steps, event.summary) + left.padStart(9)];
  };
  return {
    say,
    tell(event) {
      count(counts, event);
      for (const line of lines(event)) say(line);
    },
    close() {
      clearInterval(timer);
      clear();
    },
  };
}

interface Counts {
  segments: number;
  branches: number;
  calls: number;
}

function count(counts: Counts, event: Event): void {
  if (event.type === 'step-started') Object.assign(counts, { segments: 0, branches: 0, calls: 0 });
  if (event.type === 'tool-answered') counts.calls++;
  if (event.type === 'branch-decided' && event.decision.outcome === 'branch') counts.branches++;
  if (event.type === 'segment-grown') counts.segments++;
}

function liveLine(status: WorkerStatus, counts: Counts, seconds: readonly number[]): string {
  const { step, steps, phase } = status;
  if (step === 0 || step > steps) return phase;
  const grown = `${counts.segments} segments, ${counts.calls} calls, ${counts.branches} branches`;
  const left = seconds.length === 0 ? '' : `   ${duration((steps - step + 1) * recentMean(seconds))} left`;
  return `step ${step}/${steps}  ${phase}   ${grown}${left}`;
}

/** Facts that are worth a line of their own. */
function lastingLines(event: Event): string[] {
  if (event.type === 'run-started') return startLines(event);
  if (event.type === 'evaluated') return [evaluationLine(event.step, event.summary)];
  if (event.type === 'tree-failed')
    return [`tree ${event.tree} failed and is left out: ${event.failure.message}`];
  if (event.type === 'warned') return [`warning: ${event.failure.message}${fixOf(event.failure.fix)}`];
  if (event.type === 'paused') return [`paused after step ${event.step}: ${event.reason}`];
  if (event.type === 'resumed') return [`resumed after step ${event.step} from ${event.from}`];
  if (event.type !== 'run-ended') return [];
  const reason = event.failure ? `: ${event.failure.message}${fixOf(event.failure.fix)}` : '';
  return [`run ${event.outcome} ${whenEnded(event)}${reason}`];
}

/** A step that failed was begun, and is not done. */
const whenEnded = ({ outcome, step }: EventOf<'run-ended'>): string =>
  outcome !== 'failed' ? `after step ${step}` : step === 0 ? 'at the start' : `at step ${step}`;

const startLines = (event: EventOf<'run-started'>): string[] => [
  `policy  ${event.parameters?.toLocaleString('en') ?? '–'} parameters on ${event.device ?? 'a device that was not logged'}`,
  ...Object.entries(event.tools).map(([tag, description]) => `tool    <${tag}> ${description}`),
  `data    ${event.tasks?.toLocaleString('en') ?? '–'} training tasks, ${event.steps} steps, seed ${event.seed ?? '–'}`,
];

export function evaluationLine(step: number, summary: EvaluationSummary): string {
  const { accuracy, interval, tasks, samples, greedyAccuracy, seconds } = summary;
  const greedy = greedyAccuracy === undefined ? '' : `, greedy ${percent(greedyAccuracy)}`;
  const range = `${percent(interval[0])}–${percent(interval[1])}`;
  return `evaluated after step ${step}: ${percent(accuracy)} right (95 % interval ${range})${greedy}; ${counted(tasks, 'task')} × ${counted(samples, 'sample')} in ${seconds.toFixed(1)} s`;
}

const fixOf = (fix: string | undefined): string => (fix === undefined ? '' : ` ${fix}`);

/** The last five steps stand for those to come. */
function recentMean(seconds: readonly number[]): number {
  const recent = seconds.slice(-5);
  return recent.reduce((sum, value) => sum + value, 0) / Math.max(1, recent.length);
}

/** 75 → 1:15. */
const duration = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;
