/** What a worker says about itself and what it was asked to do. Knows nothing of sockets, engines or files. */
import type { Event, EventOf } from '../core/events.ts';
import type { WorkerStatus, WorkerVerbs } from '../protocol/verbs.ts';
import { PROTOCOL } from '../protocol/verbs.ts';

/** Requests take effect between steps: the loop looks at `asked`, a view only ever sees the facts that follow. */
export interface Control {
  readonly verbs: WorkerVerbs;
  readonly status: Readonly<WorkerStatus>;
  readonly asked: 'go' | 'pause' | 'stop';
  /** Why a pause was asked for. */
  readonly reason: string;
  /** Whether the run was under way once, so that what stands in its way later came up since. */
  readonly wasRunning: boolean;
  /** Aborted when a stop was asked for: what can be done again after a resume need not be finished. */
  readonly stopping: AbortSignal;
  /** Asks for a pause that no person asked for, as `verbs.pause` does, and says why. */
  holdUp(reason: string): void;
  /** Says in a few words what is done now. */
  phase(words: string): void;
  /** Told by who does the work, when a request took effect. */
  settle(state: 'running' | 'paused' | 'ended'): void;
  /** Keeps step and phase in agreement with what was told. */
  observe(event: Event): void;
  /** Resolves when a pause was lifted, with what lifted it. */
  released(): Promise<'go' | 'stop'>;
}

const FIRST = { protocol: PROTOCOL, state: 'starting', step: 0, phase: 'opening' } as const;

/** `groupSize`: trajectories per task, for saying how many of a step's have ended. */
export function makeControl(
  run: string,
  { steps, groupSize }: { steps: number; groupSize: number },
): Control {
  const status: WorkerStatus = { ...FIRST, pid: process.pid, run, steps };
  let asked: Control['asked'] = 'go';
  let reason = '';
  let release = (_: 'go' | 'stop'): void => undefined;
  let sampling = { ended: 0, total: 0 };
  const stopping = new AbortController();
  let wasRunning = false;
  const ask = (what: Control['asked'], state: WorkerStatus['state'], why = reason): void => {
    if (status.state === 'ended' || asked === 'stop') return;
    reason = why;
    asked = what;
    status.state = state;
    if (what === 'stop') stopping.abort();
    if (what !== 'pause') release(what);
  };
  const pause = (why: string): void => {
    if (asked === 'go') ask('pause', 'pausing', why);
  };
  return {
    status,
    get asked() {
      return asked;
    },
    get reason() {
      return reason;
    },
    get wasRunning() {
      return wasRunning;
    },
    stopping: stopping.signal,
    verbs: {
      status: () => ({ ...status }),
      pause: () => pause('asked to pause'),
      resume: () => {
        if (asked === 'pause') ask('go', 'running');
      },
      stop: () => ask('stop', 'stopping'),
    },
    holdUp: pause,
    phase: words => void (status.phase = words),
    settle(state) {
      if (state === 'running') wasRunning = true;
      if (state === 'ended' || asked === (state === 'paused' ? 'pause' : 'go')) status.state = state;
    },
    observe(event) {
      status.step = Math.max(status.step, event.step);
      sampling = samplingAfter(sampling, event, groupSize);
      status.phase = phaseAfter(event, sampling) ?? status.phase;
    },
    released: () =>
      new Promise(resolve => {
        if (asked !== 'pause') resolve(asked);
        else release = resolve;
      }),
  };
}

/** How many of a step's trajectories have ended, of how many. */
interface Sampling {
  ended: number;
  total: number;
}

function samplingAfter(sampling: Sampling, event: Event, groupSize: number): Sampling {
  const { ended, total } = sampling;
  if (event.type === 'step-started') return { ended: 0, total: event.tasks.length * groupSize };
  if (event.type === 'tasks-added') return { ended, total: total + event.tasks.length * groupSize };
  return event.type === 'segment-grown' && endsPath(event) ? { ended: ended + 1, total } : sampling;
}

/** What is done after a fact, in a few words; undefined where the fact does not say. */
function phaseAfter(event: Event, { ended, total }: Sampling): string | undefined {
  if (event.type === 'step-started' || event.type === 'segment-grown') return `sampling ${ended}/${total}`;
  if (event.type === 'run-ended') return event.outcome;
  return event.type === 'paused' ? 'paused' : undefined;
}

/** Whether a segment is the last of its trajectory. */
const endsPath = ({ stop }: EventOf<'segment-grown'>): boolean => stop !== undefined && stop !== 'call';
