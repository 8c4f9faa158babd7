/** Checks at the rim: turns an unknown value into a core type or says where it is wrong. Knows nothing of files. */
import { crc32 } from 'node:zlib';
import { FailureError } from '../core/types.ts';

/** Returns the value as T, or throws a FailureError that names the place. Fields that it does not know are let through. */
export type Shape<T> = (value: unknown, place: string) => T;

function wrong(place: string, expected: string, value: unknown): never {
  const found =
    value === undefined
      ? 'missing'
      : value === null
        ? 'null'
        : Array.isArray(value)
          ? 'a list'
          : typeof value;
  throw new FailureError({ where: 'store', message: `${place} should be ${expected}, but is ${found}.` });
}

export const text: Shape<string> = (value, place) =>
  typeof value === 'string' ? value : wrong(place, 'a text', value);
export const yes: Shape<boolean> = (value, place) =>
  typeof value === 'boolean' ? value : wrong(place, 'true or false', value);
export const number: Shape<number> = (value, place) =>
  typeof value === 'number' && Number.isFinite(value) ? value : wrong(place, 'a number', value);
export const integer: Shape<number> = (value, place) =>
  Number.isSafeInteger(value) ? (value as number) : wrong(place, 'a whole number', value);
export const count: Shape<number> = (value, place) =>
  Number.isSafeInteger(value) && (value as number) >= 0
    ? (value as number)
    : wrong(place, 'a whole number from 0', value);

export const oneOf =
  <V extends string>(...choices: readonly V[]): Shape<V> =>
  (value, place) =>
    choices.includes(value as V) ? (value as V) : wrong(place, `one of ${choices.join(', ')}`, value);

export const orNull =
  <T>(shape: Shape<T>): Shape<T | null> =>
  (value, place) =>
    value === null ? null : shape(value, place);

export const list =
  <T>(shape: Shape<T>): Shape<T[]> =>
  (value, place) =>
    Array.isArray(value)
      ? value.map((item, i) => shape(item, `${place}[${i}]`))
      : wrong(place, 'a list', value);

/** An object whose names are data. */
export const table =
  <T>(shape: Shape<T>): Shape<Record<string, T>> =>
  (value, place) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) wrong(place, 'an object', value);
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, shape(item, `${place}.${name}`)]),
    );
  };

/** A field that may be absent; null counts as absent. */
export interface Optional<T> {
  optional: Shape<T>;
}
export const optional = <T>(shape: Shape<T>): Optional<T> => ({ optional: shape });

/** One entry for every field of T; the compiler sees to it that none is forgotten and that optional ones are so here too. */
export type Fields<T> = {
  [K in keyof T]-?: Record<never, never> extends Pick<T, K>
    ? Optional<Exclude<T[K], undefined>>
    : Shape<T[K]>;
};

export const record = <T extends object>(fields: Fields<T>): Shape<T> => {
  const entries = Object.entries<Shape<unknown> | Optional<unknown>>(fields);
  return (value, place) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) wrong(place, 'an object', value);
    const found: Record<string, unknown> = { ...value };
    const prefix = place === '' ? '' : `${place}.`;
    for (const [name, field] of entries) {
      const here = prefix + name;
      if (typeof field === 'function') found[name] = field(found[name], here);
      else if (found[name] === undefined || found[name] === null) {
        // Objects that something was deleted from are slow ever after.
        if (name in found) delete found[name];
      } else found[name] = field.optional(found[name], here);
    }
    // Every field of T was checked, and Fields is complete over T.
    return found as T;
  };
};

const SEAL = /,"crc":(\d+)\}$/;
/** Characters that a seal has at most. */
export const LONGEST_SEAL = ',"crc":4294967295}'.length;

/** The JSON text of an object with a CRC-32 of itself as its last field, so that a reader sees whether it was changed. */
export const sealed = (json: string): string => `${json.slice(0, -1)},"crc":${crc32(json)}}`;

export const isSealed = (text: string): boolean => SEAL.test(text.slice(-LONGEST_SEAL));

/** The JSON text as it was before it was sealed; undefined where its checksum is wrong, itself where it has none. */
export function unsealed(text: string): string | undefined {
  const seal = SEAL.exec(text);
  if (!seal) return text;
  const json = `${text.slice(0, seal.index)}}`;
  return crc32(json) === Number(seal[1]) ? json : undefined;
}

/** Parses one JSON line; the error names file and byte. */
export function parseLine(line: { text: string; offset: number }, file: string): unknown {
  const json = unsealed(line.text);
  if (json === undefined)
    throw new FailureError({
      where: 'store',
      message: `${file}, byte ${line.offset}: the line is not what was written (checksum).`,
      fix: 'Restore the file from a copy.',
    });
  try {
    return JSON.parse(json);
  } catch (error) {
    const message = `${file}, byte ${line.offset}: the line is not JSON (${(error as Error).message}).`;
    throw new FailureError({
      where: 'store',
      message,
      fix: 'Restore the file from a copy; it was changed after it was written.',
    });
  }
}
