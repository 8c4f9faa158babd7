/**
 * TensorBoard's event files: records of scalars by tag and step, written as TensorBoard reads them. Knows nothing of what the
 * scalars mean.
 */
import { concat, double, float, integer, message, string } from '../core/protobuf.ts';
import { now } from './clock.ts';
import { append, close, openAppend, type AppendFile } from './disk.ts';

/** CRC-32C (Castagnoli), reflected. */
const POLYNOMIAL = 0x82f63b78;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  return crc >>> 0;
});

export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 255]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** A checksum that may itself be checksummed: TFRecord rotates it and adds a constant. */
export function maskedCrc(bytes: Uint8Array): number {
  const crc = crc32c(bytes);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** TFRecord: length (u64), its checksum, the bytes, their checksum; all little-endian. */
export function record(bytes: Uint8Array): Buffer {
  const framed = Buffer.alloc(16 + bytes.length);
  framed.writeBigUInt64LE(BigInt(bytes.length), 0);
  framed.writeUInt32LE(maskedCrc(framed.subarray(0, 8)), 8);
  framed.set(bytes, 12);
  framed.writeUInt32LE(maskedCrc(bytes), 12 + bytes.length);
  return framed;
}

/** An event file open for its one writer. */
export interface EventFile {
  /** Scalars of one step by tag; those that are no finite numbers are left out. */
  write(step: number, scalars: Readonly<Record<string, number>>): void;
  close(): void;
}

/**
 * Begins a new event file in the folder. What earlier files say of steps from `firstStep` on is void: TensorBoard drops it when it
 * reads this one.
 */
export function openEventFile(folder: string, firstStep: number): EventFile {
  const seconds = Math.floor(now() / 1000);
  // TensorBoard reads the files of a folder in the order of their names.
  const file = openAppend(
    `${folder}/events.out.tfevents.${String(seconds).padStart(10, '0')}.branchpoint.${process.pid}`,
  );
  put(file, [string(3, 'brain.Event:2')]);
  if (firstStep > 1) put(file, [integer(2, firstStep), message(7, [integer(1, SESSION_STARTED)])]);
  return {
    write(step, scalars) {
      const values = Object.entries(scalars).filter(([, value]) => Number.isFinite(value));
      if (values.length === 0) return;
      const summary = values.map(([tag, value]) => message(1, [string(1, tag), float(2, value)]));
      put(file, [integer(2, step), message(5, summary)]);
    },
    close: () => close(file),
  };
}

const SESSION_STARTED = 1;

/** One Event with its wall time in front. */
const put = (file: AppendFile, fields: readonly Uint8Array[]): void =>
  append(file, record(concat([double(1, now() / 1000), ...fields])));
