/**
 * Keeps as many sandboxed interpreters as the programs in flight need, and replaces those that ended. Knows nothing of
 * which sandbox they are or of what a policy reads.
 */
import { errorText } from '../../core/types.ts';
import { Resident, type ProgramLimits, type ProgramReport, type ResidentCommand } from './resident.ts';

export interface ResidentsOptions {
  command: ResidentCommand;
  limits: ProgramLimits;
  /** Most interpreters at once. */
  max: number;
  /** How long a program waits for a busy interpreter before another one is started. */
  patienceMs: number;
}

interface Waiting {
  resolve(resident: Resident): void;
  reject(reason: Error): void;
}

export class Residents {
  private readonly options: ResidentsOptions;
  private readonly all = new Set<Resident>();
  private readonly idle: Resident[] = [];
  /** First come, first served. */
  private readonly waiting: Waiting[] = [];
  private readonly ending = new Set<Promise<void>>();
  private starting = 0;
  private isClosed = false;

  /** Keeps `first` and starts others when they are needed. */
  constructor(first: Resident, options: ResidentsOptions) {
    this.options = options;
    this.add(first);
  }

  /** Rejects where no interpreter can be started or the signal fires before one is free. */
  async run(source: string, signal: AbortSignal): Promise<ProgramReport> {
    if (this.isClosed) throw new Error('the Python sandbox is closed');
    const resident = await this.take(signal);
    try {
      return await resident.run(source, signal);
    } finally {
      this.offer(resident);
    }
  }

  /** Ends all of them; resolves when they are gone. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const { reject } of this.waiting.splice(0)) reject(new Error('the Python sandbox is closed'));
    for (const resident of this.all) this.drop(resident);
    await Promise.all(this.ending);
  }

  private take(signal: AbortSignal): Promise<Resident> {
    for (let resident = this.idle.pop(); resident; resident = this.idle.pop()) {
      if (resident.isUsable) return Promise.resolve(resident);
      this.drop(resident);
    }
    if (this.all.size === 0) this.grow();
    return this.wait(signal);
  }

  private offer(resident: Resident): void {
    const next = resident.isUsable ? this.waiting.shift() : undefined;
    if (next) next.resolve(resident);
    else if (resident.isUsable) this.idle.push(resident);
    else {
      this.drop(resident);
      // The next program should not have to wait for a start.
      if (this.all.size === 0) this.grow();
    }
  }

  private grow(): void {
    const { command, limits, max } = this.options;
    // One at a time: a start takes a core, and may be all that is needed.
    if (!this.isClosed && this.starting === 0 && this.all.size < max) this.add(new Resident(command, limits));
  }

  private add(resident: Resident): void {
    this.all.add(resident);
    this.starting++;
    resident.ready.then(
      () => {
        this.starting--;
        this.offer(resident);
      },
      (error: unknown) => {
        this.starting--;
        this.drop(resident);
        this.waiting.shift()?.reject(new Error(`the Python sandbox does not start: ${errorText(error)}`));
        if (this.waiting.length > 0 && this.all.size === 0) this.grow();
      },
    );
  }

  private drop(resident: Resident): void {
    this.all.delete(resident);
    const end = resident.end().finally(() => this.ending.delete(end));
    this.ending.add(end);
  }

  private wait(signal: AbortSignal): Promise<Resident> {
    return new Promise((resolve, reject) => {
      const timer = setInterval(() => this.grow(), this.options.patienceMs);
      const leave = (): void => {
        clearInterval(timer);
        signal.removeEventListener('abort', giveUp);
      };
      const giveUp = (): void => {
        leave();
        this.waiting.splice(this.waiting.indexOf(entry), 1);
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
      this.waiting.push(entry);
      signal.addEventListener('abort', giveUp);
      if (signal.aborted) giveUp();
    });
  }
}
