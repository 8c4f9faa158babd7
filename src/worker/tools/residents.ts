/**
 * Keeps as many sandboxed interpreters as the programs in flight need, and replaces those that ended. Knows nothing of
 * which sandbox they are or of what a policy reads.
 */
import { Resident, type ProgramLimits, type ProgramReport, type ResidentCommand } from './resident.ts';

export interface ResidentsOptions {
  command: ResidentCommand;
  limits: ProgramLimits;
  /** Most interpreters at once. */
  max: number;
  /** How long a program waits for a busy interpreter before another one is started. */
  patienceMs: number;
}

export interface Residents {
  /** Rejects where no interpreter can be started or the signal fires before one is free. */
  run(source: string, signal: AbortSignal): Promise<ProgramReport>;
  /** Ends all of them; resolves when they are gone. */
  close(): Promise<void>;
}

interface Waiting {
  resolve(resident: Resident): void;
  reject(reason: Error): void;
}

/** Keeps `first` and starts others when they are needed. */
export function keepResidents(first: Resident, options: ResidentsOptions): Residents {
  const all = new Set<Resident>();
  const idle: Resident[] = [];
  const waiting: Waiting[] = [];
  let isClosed = false;

  const add = (resident: Resident): void => {
    all.add(resident);
    resident.ready.then(
      () => offer(resident),
      (error: unknown) => {
        all.delete(resident);
        waiting.shift()?.reject(new Error(`the Python sandbox does not start: ${messageOf(error)}`));
        if (waiting.length > 0) growIfEmpty();
      },
    );
  };
  const grow = (): void => {
    if (!isClosed && all.size < options.max) add(new Resident(options.command, options.limits));
  };
  const growIfEmpty = (): void => {
    if (all.size === 0) grow();
  };
  const offer = (resident: Resident): void => {
    if (!resident.isUsable) {
      all.delete(resident);
      void resident.end();
      // The next program should not have to wait for a start.
      growIfEmpty();
      return;
    }
    const next = waiting.shift();
    if (next) next.resolve(resident);
    else idle.push(resident);
  };
  const take = async (signal: AbortSignal): Promise<Resident> => {
    for (let resident = idle.pop(); resident; resident = idle.pop()) {
      if (resident.isUsable) return resident;
      all.delete(resident);
    }
    growIfEmpty();
    return wait(waiting, signal, { afterMs: options.patienceMs, grow });
  };

  add(first);
  return {
    async run(source, signal) {
      if (isClosed) throw new Error('the Python sandbox is closed');
      const resident = await take(signal);
      try {
        return await resident.run(source, signal);
      } finally {
        offer(resident);
      }
    },
    async close() {
      isClosed = true;
      for (const { reject } of waiting.splice(0)) reject(new Error('the Python sandbox is closed'));
      await Promise.all([...all].map(resident => resident.end()));
    },
  };
}

/** The next interpreter that becomes free, first come first served. */
function wait(
  waiting: Waiting[],
  signal: AbortSignal,
  patience: { afterMs: number; grow: () => void },
): Promise<Resident> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(patience.grow, patience.afterMs);
    const leave = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      const place = waiting.indexOf(entry);
      if (place >= 0) waiting.splice(place, 1);
    };
    const giveUp = (): void => {
      leave();
      reject(new Error('no Python sandbox became free in time'));
    };
    const entry: Waiting = {
      resolve(resident) {
        leave();
        resolve(resident);
      },
      reject(reason) {
        leave();
        reject(reason);
      },
    };
    waiting.push(entry);
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
  });
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
