/** The facts of a journal from a byte on, all of them or those that tell of whole steps. Knows nothing of who waits for more. */
import { join } from 'node:path';
import { type Event, TREE_FACTS } from '../core/events.ts';
import { FailureError } from '../core/types.ts';
import { statOf } from './disk.ts';
import { eventOf } from './eventShape.ts';
import { FILES } from './layout.ts';
import { type Line, lineOf, readSpan, split, wholeBytes } from './lines.ts';
import { refuseNewer } from './manifest.ts';
import type { Asked, EventBatch } from './run.ts';
import { watchSeals } from './seals.ts';
import { parseLine } from './shape.ts';

const LINE_FEED = 10;

/**
 * Whole lines from a byte on as events. `seq` is the number that the first of them must have; undefined for any. For `headlines` what
 * tells of a step's trees waits unread until the step is finished, and then is left out, but for the step that is asked for.
 */
export async function* readEvents(
  folder: string,
  { from, seq, headlines = false, step: wanted }: { from: number; seq: number | undefined } & Asked,
): AsyncGenerator<EventBatch & { seq: number }> {
  const path = join(folder, FILES.events);
  if (!statOf(path)) return;
  let expected = seq ?? (from === 0 ? 0 : undefined);
  let last = from;
  let waiting: (Event | Unread)[] = [];
  const expectSeal = watchSeals(path, from);
  for await (const { bytes, at, next } of wholeBytes(path, from)) {
    const events: Event[] = [];
    for (let start = 0, end: number; start < bytes.length; start = end + 1) {
      end = bytes.indexOf(LINE_FEED, start);
      const step = headlines && expected !== undefined ? stepOfTreeFact(bytes, start, expected) : undefined;
      if (step !== undefined && step !== wanted) {
        passOver(waiting, { from: at + start, to: at + end + 1, seq: expected!, step });
        expected!++;
        continue;
      }
      const line = lineOf(bytes, { start, end, at });
      expectSeal(line);
      const read = readEvent(line, path, expected);
      expected = read.seq + 1;
      if (!read.event) continue;
      // What comes after something that waits waits with it, so that all stays in its order.
      if (waiting.length > 0) waiting.push(read.event);
      else events.push(read.event);
      if (read.event.type !== 'step-finished') continue;
      waiting = waiting.filter(one => !isUnread(one) || one.step > read.event!.step);
      if (waiting.some(isUnread)) continue;
      for (const one of waiting.splice(0)) if (!isUnread(one)) events.push(one);
    }
    yield { events, from: last, next, seq: expected ?? 0 };
    last = next;
  }
  // The step that is under way.
  const events = waiting.flatMap(one => (isUnread(one) ? readSince(path, one) : one));
  if (events.length > 0) yield { events, from: last, next: last, seq: expected ?? 0 };
}

/** Lines behind each other that tell of the trees of one step: bytes `from` to `to` of the file, the first fact's number. */
interface Unread {
  from: number;
  to: number;
  seq: number;
  step: number;
}

const isUnread = (one: Event | Unread): one is Unread => 'to' in one;

/** Adds a line to those that wait; a long journal has millions. */
function passOver(waiting: (Event | Unread)[], line: Unread): void {
  const before = waiting.at(-1);
  if (before !== undefined && isUnread(before) && before.step === line.step && before.to === line.from)
    before.to = line.to;
  else waiting.push(line);
}

function readSince(path: string, { from, to, seq }: Unread): Event[] {
  const expectSeal = watchSeals(path, from);
  let expected = seq;
  return split(readSpan(path, from, to - from), from).flatMap(line => {
    expectSeal(line);
    return readEvent(line, path, expected++).event ?? [];
  });
}

const encoded = (text: string): Buffer => Buffer.from(text);
const SEQ = encoded('{"seq":');
const AT = encoded(',"at":"');
const STEP = encoded('","step":');
const TYPE = encoded(',"type":"');
const NAMES = TREE_FACTS.map(name => encoded(`${name}"`));
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ZERO = 0x30;

/**
 * The step of a line that tells of its trees, known by how it begins; undefined for any other line, also where it has another number
 * than is expected or tells that in another form. (By bytes, because most lines of a long journal need not become texts.)
 */
function stepOfTreeFact(bytes: Buffer, start: number, expected: number): number | undefined {
  if (!isAt(bytes, start, SEQ)) return undefined;
  let at = start + SEQ.length;
  let number = 0;
  for (; isDigit(bytes[at]!); at++) number = 10 * number + bytes[at]! - ZERO;
  if (number !== expected || !isAt(bytes, at, AT)) return undefined;
  at += AT.length;
  while (bytes[at] !== QUOTE) if (bytes[at] === BACKSLASH || ++at >= bytes.length) return undefined;
  if (!isAt(bytes, at, STEP)) return undefined;
  at += STEP.length;
  let step = 0;
  for (; isDigit(bytes[at]!); at++) step = 10 * step + bytes[at]! - ZERO;
  if (!isAt(bytes, at, TYPE)) return undefined;
  for (const name of NAMES) if (isAt(bytes, at + TYPE.length, name)) return step;
  return undefined;
}

function isAt(bytes: Buffer, at: number, text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}

const isDigit = (byte: number): boolean => byte >= ZERO && byte <= ZERO + 9;

function readEvent(line: Line, path: string, expected: number | undefined): { seq: number; event?: Event } {
  const place = `${path}, byte ${line.offset}: event`;
  const read = eventOf(parseLine(line, path), place);
  if (read.event?.type === 'run-started') refuseNewer(read.event, path);
  if (expected === undefined || read.seq === expected) return read;
  const message = `${place} has number ${read.seq}, but ${expected} comes next: lines are missing or were changed.`;
  throw new FailureError({ where: 'store', message, fix: 'Restore the file from a copy.' });
}
