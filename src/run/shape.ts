/** Checks at the rim: turns an unknown value into a core type or says where it is wrong. Knows nothing of files. */
import { crc32 } from 'node:zlib';
import { FailureError } from '../core/types.ts';

/**
 * Returns the value as T, or throws a FailureError that names where it is: field or index `name` of what is at `place`, or `place`
 * itself. The two are joined where something is wrong only, because that takes longer than to check a number. Fields that it does
 * not know are let through. The value itself is returned where nothing in it has to change.
 */
export type Shape<T> = (value: unknown, place: string, name?: string | number) => T;

/** Where a value is, in words: for shapes that say themselves what is wrong. */
export function joined(place: string, name: string | number | undefined): string {
  if (name === undefined) return place;
  if (typeof name === 'number') return `${place}[${name}]`;
  return place === '' ? name : `${place}.${name}`;
}

/** Whose value is wrong, what it should be, and what it is. */
function wrong(
  place: string,
  name: string | number | undefined,
  { should, value }: { should: string; value: unknown },
): never {
  const found =
    value === undefined
      ? 'missing'
      : value === null
        ? 'null'
        : Array.isArray(value)
          ? 'a list'
          : typeof value === 'number'
            ? String(value)
            : typeof value;
  const message = `${joined(place, name)} should be ${should}, but is ${found}.`;
  throw new FailureError({ where: 'store', message });
}

export const text: Shape<string> = (value, place, name) =>
  typeof value === 'string' ? value : wrong(place, name, { should: 'a text', value });
export const yes: Shape<boolean> = (value, place, name) =>
  typeof value === 'boolean' ? value : wrong(place, name, { should: 'true or false', value });
export const number: Shape<number> = (value, place, name) =>
  typeof value === 'number' && Number.isFinite(value)
    ? value
    : wrong(place, name, { should: 'a number', value });
export const integer: Shape<number> = (value, place, name) =>
  Number.isSafeInteger(value) ? (value as number) : wrong(place, name, { should: 'a whole number', value });
export const count: Shape<number> = (value, place, name) =>
  Number.isSafeInteger(value) && (value as number) >= 0
    ? (value as number)
    : wrong(place, name, { should: 'a whole number from 0', value });

export const oneOf =
  <V extends string>(...choices: readonly V[]): Shape<V> =>
  (value, place, name) =>
    choices.includes(value as V)
      ? (value as V)
      : wrong(place, name, { should: `one of ${choices.join(', ')}`, value });

export const orNull =
  <T>(shape: Shape<T>): Shape<T | null> =>
  (value, place, name) =>
    value === null ? null : shape(value, place, name);

export const list =
  <T>(shape: Shape<T>): Shape<T[]> =>
  (value, place, name) => {
    if (!Array.isArray(value)) wrong(place, name, { should: 'a list', value });
    const here = joined(place, name);
    let items = value as unknown[];
    for (let i = 0; i < items.length; i++) {
      const item = shape(items[i], here, i);
      if (item === items[i]) continue;
      if (items === value) items = [...items];
      items[i] = item;
    }
    // Every item was checked.
    return items as T[];
  };

function objectOf(value: unknown, place: string, name: string | number | undefined): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  return wrong(place, name, { should: 'an object', value });
}

/** An object whose names are data. */
export const table =
  <T>(shape: Shape<T>): Shape<Record<string, T>> =>
  (value, place, name) => {
    const given = objectOf(value, place, name) as Record<string, unknown>;
    const here = joined(place, name);
    const entries = Object.entries(given).map(([key, item]) => [key, shape(item, here, key)] as const);
    // Every value was checked.
    if (entries.every(([key, item]) => item === given[key])) return given as Record<string, T>;
    return Object.fromEntries(entries);
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
  const entries = Object.entries<Shape<unknown> | Optional<unknown>>(fields).map(([key, field]) =>
    typeof field === 'function'
      ? { key, shape: field, isOptional: false }
      : { key, shape: field.optional, isOptional: true },
  );
  return (value, place, name) => {
    const given = objectOf(value, place, name) as Record<string, unknown>;
    const here = joined(place, name);
    let found = given;
    for (const { key, shape, isOptional } of entries) {
      const old = given[key];
      const isAbsent = isOptional && (old === undefined || old === null);
      if (isAbsent && !(key in given)) continue;
      const checked = isAbsent ? undefined : shape(old, here, key);
      if (checked === old && !isAbsent) continue;
      if (found === given) found = { ...given };
      if (isAbsent) delete found[key];
      else found[key] = checked;
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
