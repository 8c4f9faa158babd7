/** Writes a run's facts, in order, one line each. Knows nothing of who tells them or who reads them. */
import { join } from 'node:path';
import type { Event, Fact } from '../core/events.ts';
import { FailureError } from '../core/types.ts';
import { timestamp } from './clock.ts';
import type { AppendFile } from './disk.ts';
import { append, close, openAppend, sync } from './disk.ts';
import { eventOf } from './eventShape.ts';
import { FILES } from './layout.ts';
import { lastWholeLine } from './lines.ts';
import { parseLine, sealed } from './shape.ts';

/** A told fact is on its way to the disk for at most as long. */
const FLUSH_MS = 100;

/**
 * The one writer of events.jsonl. A write that fails loses nothing: the lines wait, and the next tell, flush or close tries
 * again and throws where it fails again.
 */
export class Journal {
  readonly #file: AppendFile;
  #nextSeq: number;
  /** Written out all at once, which is quicker than each alone amid other work. */
  #waiting: Event[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** True after a flush by the timer failed, until a flush succeeds. */
  #isBehind = false;
  #isClosed = false;

  private constructor(file: AppendFile, nextSeq: number) {
    this.#file = file;
    this.#nextSeq = nextSeq;
  }

  /** Continues after the last whole line; a torn last line is cut off. Throws where the last whole line is not an event. */
  static open(runFolder: string): Journal {
    const path = join(runFolder, FILES.events);
    const { line, end } = lastWholeLine(path);
    const nextSeq = line ? eventOf(parseLine(line, path), `${path}, byte ${line.offset}: event`).seq + 1 : 0;
    return new Journal(openAppend(path, end), nextSeq);
  }

  /** The number that the next fact gets. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  /** Stamps the fact, which must not change any more, and puts it behind those told before. `step` is 0 before the first step. */
  tell(fact: Fact, step: number): Event {
    const event = this.note(fact, step);
    if (this.#isBehind) this.flush();
    return event;
  }

  /** As tell, but where the disk refuses the fact waits, and nothing is thrown: for saying that the disk refuses. */
  note(fact: Fact, step: number): Event {
    if (this.#isClosed)
      throw new FailureError({
        where: 'bug',
        message: `${fact.type} was told after the journal was closed.`,
      });
    const event = eventFor({ seq: this.#nextSeq, at: timestamp(), step, ...fact }, fact.type);
    this.#nextSeq++;
    this.#waiting.push(event);
    this.#timer ??= setTimeout(() => this.attempt(), FLUSH_MS);
    return event;
  }

  /** Hands everything told so far to the operating system. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    try {
      let lines = '';
      for (const event of this.#waiting) lines += `${sealed(JSON.stringify(event))}\n`;
      append(this.#file, Buffer.from(lines));
    } catch (error) {
      this.#isBehind = true;
      const message = `${this.#file.path} cannot be written: ${(error as Error).message}`;
      throw new FailureError({
        where: 'store',
        message,
        fix: 'Free disk space or correct the folder’s rights, then resume the run.',
      });
    }
    this.#waiting = [];
    this.#isBehind = false;
  }

  /** Flushes and waits until the bytes are on the medium. */
  sync(): void {
    this.flush();
    sync(this.#file);
  }

  /** Flushes and ends the journal. Calling it again does nothing. */
  close(): void {
    if (this.#isClosed) return;
    this.sync();
    this.#isClosed = true;
    close(this.#file);
  }

  /** As flush, but a failure is only noted: the next tell, flush or close meets it. */
  attempt(): void {
    try {
      this.flush();
    } catch (error) {
      if (!this.#isBehind) throw error;
    }
  }
}

/** The event as a reader will find it. Throws where it would not fit its shape. */
function eventFor(stamped: object, type: Fact['type']): Event {
  const checked = (value: unknown): Event => {
    const { event } = eventOf(value, `The fact ${type}`);
    if (event) return event;
    throw new FailureError({ where: 'bug', message: `There is no event of type ${type}.` });
  };
  try {
    return checked(stamped);
  } catch {
    // Looking for numbers takes several times as long as checking them, so it is done where something does not fit.
    return checked(measured(stamped));
  }
}

/** Without the numbers that are not finite: they were not measured, JSON has no word for them, and absent is ours. */
function measured(stamped: object): unknown {
  const text = JSON.stringify(stamped, (_, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? undefined : value,
  );
  return JSON.parse(text);
}
