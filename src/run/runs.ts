/** What a glance at a run folder shows. Reads ends of journals, never whole ones. */
import { join } from 'node:path';
import type { Event, EventOf } from '../core/events.ts';
import { withoutVoided } from '../core/journalOrder.ts';
import { FailureError } from '../core/types.ts';
import { statOf } from './disk.ts';
import { eventOf } from './eventShape.ts';
import { FILES } from './layout.ts';
import { tailLines, type Line } from './lines.ts';
import { liveLock } from './lock.ts';
import type { Manifest } from './manifest.ts';
import { readManifest } from './manifest.ts';
import { parseLine } from './shape.ts';

/** `live`: its worker runs; `interrupted`: it ended without saying so; the others as it said; `unreadable`: see `problem`. */
export type RunStatus = 'live' | 'finished' | 'stopped' | 'failed' | 'interrupted' | 'unreadable';

export interface RunSummary {
  folder: string;
  name: string;
  status: RunStatus;
  /** Only where the run is live: whether it waits. */
  isPaused: boolean;
  created: string;
  /** Last finished step, 0 before; and all steps of its config. */
  step: number;
  steps: number;
  /** Mean reward of that step. */
  reward?: number;
  /** Why the run failed or cannot be read. */
  problem?: string;
}

/** Journal bytes that are looked at for the last step; more only where they hold none. */
const TAIL = 1 << 16;
const LONGEST_TAIL = 1 << 24;

/** What a glance at one run folder shows; a folder that cannot be read is `unreadable` and says why. */
export function summarizeRun(folder: string, name: string): RunSummary {
  try {
    return summarize(folder, name, readManifest(folder));
  } catch (error) {
    if (!(error instanceof FailureError)) throw error;
    const nothing = { isPaused: false, created: '', step: 0, steps: 0 };
    return { folder, name, status: 'unreadable', ...nothing, problem: error.message };
  }
}

function summarize(folder: string, name: string, manifest: Manifest): RunSummary {
  const valid = lastEvents(join(folder, FILES.events));
  const ended = last(valid, 'run-ended');
  const finished = last(valid, 'step-finished');
  const isLive = liveLock(folder) !== undefined;
  const lastChange = valid.findLast(({ type }) => type === 'paused' || type === 'resumed');
  return {
    folder,
    name,
    status: isLive ? 'live' : (ended?.outcome ?? 'interrupted'),
    isPaused: isLive && lastChange?.type === 'paused',
    created: manifest.created,
    step: finished?.step ?? 0,
    steps: manifest.config.steps,
    ...(finished && { reward: finished.summary.reward.mean }),
    ...(!isLive && ended?.failure && { problem: ended.failure.message }),
  };
}

const last = <T extends Event['type']>(events: readonly Event[], type: T): EventOf<T> | undefined =>
  events.findLast((event): event is EventOf<T> => event.type === type);

/** Events at the end of the journal that still hold, at least back to the last finished step where there is one in reach. */
function lastEvents(path: string): Event[] {
  const size = statOf(path)?.size ?? 0;
  for (let tail = TAIL; ; tail *= 16) {
    const events = withoutVoided(tailLines(path, tail).flatMap(line => parsed(line, path)));
    if (tail >= size || tail >= LONGEST_TAIL || events.some(({ type }) => type === 'step-finished'))
      return events;
  }
}

function parsed(line: Line, path: string): Event[] {
  const { event } = eventOf(parseLine(line, path), `${path}, byte ${line.offset}: event`);
  return event ? [event] : [];
}
