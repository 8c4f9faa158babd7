/** Hands facts to one view, one batch outstanding at a time. Knows nothing of webviews or journals. */
import { type Event, TREE_FACTS } from '../core/events.ts';

export interface Batch {
  from: number;
  events: Event[];
  /** The next batch waits already. */
  more?: boolean;
}

export interface Pump {
  /** What is pushed while a batch is under way is merged into the next. */
  push(events: readonly Event[]): void;
  /** Makes the view forget what it has and begins again with these. */
  restart(events: readonly Event[]): void;
  stop(): void;
}

/** Facts in one message: a batch stays well below a megabyte. */
const LARGEST_BATCH = 2000;

/** `send` resolves when the view took the batch; where it rejects the pump stops and `failed` is told, once. */
export function makePump(send: (batch: Batch) => Promise<void>, failed: (error: unknown) => void): Pump {
  let waiting: Event[] = [];
  let taken = 0;
  let isBusy = false;
  let isStopped = false;
  let mustForget = true;
  const drain = async (): Promise<void> => {
    while (!isStopped && (mustForget || waiting.length > 0)) {
      if (mustForget) taken = 0;
      mustForget = false;
      const events = waiting.splice(0, LARGEST_BATCH);
      const from = taken;
      taken += events.length;
      await send({ from, events, ...(waiting.length > 0 && { more: true }) });
    }
  };
  const start = (): void => {
    if (isBusy || isStopped) return;
    isBusy = true;
    drain()
      .catch((error: unknown) => {
        const wasStopped = isStopped;
        isStopped = true;
        if (!wasStopped) failed(error);
      })
      .finally(() => (isBusy = false));
  };
  return {
    push(events) {
      waiting.push(...events);
      start();
    },
    restart(events) {
      waiting = [...events];
      mustForget = true;
      start();
    },
    stop: () => void (isStopped = true),
  };
}

/** The last step that finished in these facts, and was not voided by a resumption; 0 for none. */
const lastFinished = (events: readonly Event[]): number =>
  events.reduce(
    (last, { type, step }) =>
      type === 'step-finished' ? Math.max(last, step) : type === 'resumed' ? Math.min(last, step) : last,
    0,
  );

/**
 * The facts that a view folds when it opens: how the trees of finished steps grew is in their trees by then. Everything of
 * the step that is under way stays.
 */
export function settled(events: readonly Event[]): Event[] {
  const finished = lastFinished(events);
  return events.filter(
    ({ type, step }) => step > finished || (type !== 'segment-grown' && type !== 'tool-answered'),
  );
}

const OF_TREES: ReadonlySet<Event['type']> = new Set(TREE_FACTS);

/** The facts that a view of the steps folds: of those that are finished, nothing about single trees. */
export function headlines(events: readonly Event[]): Event[] {
  const finished = lastFinished(events);
  return events.filter(({ type, step }) => step > finished || !OF_TREES.has(type));
}

const SUMMED: ReadonlySet<Event['type']> = new Set<Event['type']>([
  ...(['run-started', 'step-finished', 'evaluated', 'checkpoint-saved'] as const),
  ...(['paused', 'resumed', 'run-ended'] as const),
]);

/** The facts that a comparison of runs folds: how single trees grew is none of them. */
export const summed = (events: readonly Event[]): Event[] => events.filter(({ type }) => SUMMED.has(type));
