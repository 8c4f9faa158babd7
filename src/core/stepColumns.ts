/**
 * Facts of many finished steps in columns, one array a number: a message of thousands of steps is then a few arrays, and who reads one
 * number of every step unpacks nothing else. Knows nothing of what the numbers mean.
 */
import type { Event, EventOf, StepSummary } from './events.ts';

/** The finished steps of a list of facts. */
export interface StepColumns {
  /** [step] Their facts' numbers, ascending. */
  seqs: Float64Array;
  /** [step] */
  steps: Float64Array;
  /** [step] ISO 8601. */
  ats: string[];
  shape: Shape;
  /** [column][step] NaN where a number, or an object, is absent; Infinity for null; 1 where an object is present. */
  values: Float64Array;
}

/** A number, or an object of them; `column` of an object says in which steps it is present, and is absent where it always is. */
export type Shape =
  | { kind: 'number'; column: number }
  | { kind: 'object' | 'array'; column?: number; fields: [name: string, shape: Shape][] };

const NULL = Infinity;
const PRESENT = 1;
/** Fewer steps are not worth a message of another form. */
const LEAST = 16;

/** Facts without those of finished steps, and these in columns; all facts as they are where steps are few, or hold more than numbers. */
export function packSteps(events: readonly Event[]): { events: Event[]; steps?: StepColumns } {
  const finished = events.filter(event => event.type === 'step-finished');
  const steps = finished.length < LEAST ? undefined : columnsOf(finished);
  if (steps === undefined) return { events: [...events] };
  return { events: events.filter(({ type }) => type !== 'step-finished'), steps };
}

/** The facts that were packed, in their order. The numbers of a step are unpacked when they are asked for. */
export function unpackSteps(events: readonly Event[], steps: StepColumns | undefined): Event[] {
  if (steps === undefined) return [...events];
  const unpacked: Event[] = [];
  const source = sourceOf(steps);
  let row = 0;
  for (const event of events) {
    while (row < steps.seqs.length && steps.seqs[row]! < event.seq)
      unpacked.push(new PackedStep(source, row++));
    unpacked.push(event);
  }
  while (row < steps.seqs.length) unpacked.push(new PackedStep(source, row++));
  return unpacked;
}

/** Columns that are read: `seen` shows the summary of the step at `place.row`. */
interface Source {
  columns: StepColumns;
  place: { row: number };
  seen: StepSummary;
}

/** A finished step as a fact whose numbers lie in columns. A class, for thousands of them share what they can do. */
export class PackedStep {
  readonly type = 'step-finished';
  readonly #source: Source;
  readonly #row: number;
  #summary: StepSummary | undefined;

  constructor(source: Source, row: number) {
    this.#source = source;
    this.#row = row;
  }

  get seq(): number {
    return this.#source.columns.seqs[this.#row]!;
  }

  get step(): number {
    return this.#source.columns.steps[this.#row]!;
  }

  get at(): string {
    return this.#source.columns.ats[this.#row]!;
  }

  get summary(): StepSummary {
    const { columns } = this.#source;
    this.#summary ??= valueAt(columns, columns.shape, this.#row) as StepSummary;
    return this.#summary;
  }

  /** See `glance`. */
  glance(): StepSummary {
    this.#source.place.row = this.#row;
    return this.#source.seen;
  }
}

/**
 * The step's numbers, to be read at once and not to be kept: another glance changes what they are. Its objects name all that any of
 * the steps of the same message has; what this one lacks is undefined.
 */
export const glance = (step: { summary: StepSummary }): StepSummary =>
  step instanceof PackedStep ? step.glance() : step.summary;

interface Builder {
  kind: Shape['kind'];
  values: Float64Array;
  /** Steps that have it. */
  count: number;
  /** In the order in which they were first seen, which is mostly that of every step. */
  names: string[];
  fields: Builder[];
}

const builder = (kind: Shape['kind'], rows: number): Builder => ({
  kind,
  values: new Float64Array(rows).fill(NaN),
  count: 0,
  names: [],
  fields: [],
});

/** Undefined where a summary holds something else than numbers, or one name is now a number and now an object. */
function columnsOf(finished: readonly EventOf<'step-finished'>[]): StepColumns | undefined {
  const rows = finished.length;
  const root = builder('object', rows);
  for (let row = 0; row < rows; row++) if (!build(root, finished[row]!.summary, row)) return undefined;
  const columns: Float64Array[] = [];
  const shape = shapeOf(root, rows, columns);
  const values = new Float64Array(columns.length * rows);
  columns.forEach((column, i) => values.set(column, i * rows));
  return {
    seqs: Float64Array.from(finished, ({ seq }) => seq),
    steps: Float64Array.from(finished, ({ step }) => step),
    ats: finished.map(({ at }) => at),
    shape,
    values,
  };
}

function build(into: Builder, object: object, row: number): boolean {
  into.values[row] = PRESENT;
  into.count++;
  let guess = 0;
  for (const name of Object.keys(object)) {
    const value: unknown = (object as Record<string, unknown>)[name];
    if (value === undefined) continue;
    const kind = kindOf(value);
    const at = into.names[guess] === name ? guess : into.names.indexOf(name);
    const field = at < 0 ? addField(into, name, kind ?? 'number') : into.fields[at]!;
    guess = at + 1;
    if (kind !== field.kind) return false;
    if (kind === 'number') field.values[row] = (value as number | null) ?? NULL;
    else if (!build(field, value as object, row)) return false;
  }
  return true;
}

function addField({ names, fields, values }: Builder, name: string, kind: Shape['kind']): Builder {
  const field = builder(kind, values.length);
  names.push(name);
  fields.push(field);
  return field;
}

function kindOf(value: unknown): Shape['kind'] | undefined {
  if (value === null || (typeof value === 'number' && Number.isFinite(value))) return 'number';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'object' ? 'object' : undefined;
}

/** Adds the columns that the shape needs. */
function shapeOf(
  { kind, values, count, names, fields }: Builder,
  rows: number,
  columns: Float64Array[],
): Shape {
  const isAlways = count === rows;
  const column = kind === 'number' || !isAlways ? columns.push(values) - 1 : undefined;
  if (kind === 'number') return { kind, column: column! };
  return {
    kind,
    ...(column !== undefined && { column }),
    fields: fields.map((field, i) => [names[i]!, shapeOf(field, rows, columns)]),
  };
}

const numberAt = ({ values, steps }: StepColumns, column: number, row: number): number | null | undefined => {
  const value = values[column * steps.length + row]!;
  return Number.isNaN(value) ? undefined : value === NULL ? null : value;
};

/** Undefined where it is absent. */
function valueAt(columns: StepColumns, shape: Shape, row: number): unknown {
  if (shape.kind === 'number') return numberAt(columns, shape.column, row);
  if (shape.column !== undefined && numberAt(columns, shape.column, row) === undefined) return undefined;
  const entries = shape.fields
    .map(([name, field]) => [name, valueAt(columns, field, row)] as const)
    .filter(([, value]) => value !== undefined);
  return shape.kind === 'array' ? entries.map(([, value]) => value) : Object.fromEntries(entries);
}

function sourceOf(columns: StepColumns): Source {
  const place = { row: 0 };
  const { values, steps } = columns;
  const read = (shape: Shape): (() => unknown) => {
    if (shape.kind === 'number') {
      // The innermost loop of a view that opens: it reads every number once.
      const first = shape.column * steps.length;
      return () => {
        const value = values[first + place.row]!;
        return Number.isNaN(value) ? undefined : value === NULL ? null : value;
      };
    }
    const seen = shape.kind === 'array' ? [] : {};
    for (const [name, field] of shape.fields)
      Object.defineProperty(seen, name, { get: read(field), enumerable: true });
    const { column } = shape;
    return column === undefined
      ? () => seen
      : () => (numberAt(columns, column, place.row) === undefined ? undefined : seen);
  };
  return { columns, place, seen: read(columns.shape)() as StepSummary };
}
