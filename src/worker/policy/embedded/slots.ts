/** Keys and values of the paths that are being continued, laid out for the attention graphs. Knows nothing of requests. */
import { CAPACITY_STEP } from './decodeGraph.ts';
import { float32, type Tensor } from './sessions.ts';
import type { ModelShape } from '../../../core/modelShape.ts';

/** Keys and values of one layer, token-major: [token][kv · headDim]. */
export interface Rows {
  keys: Float32Array;
  values: Float32Array;
}

/** Smallest capacity that holds so many tokens. */
export const capacityFor = (tokens: number): number =>
  Math.max(1, Math.ceil(tokens / CAPACITY_STEP)) * CAPACITY_STEP;

/** Buffers of all layers: keys [slot][kv][headDim][capacity], values [slot][kv][capacity][headDim]. */
export class Slots {
  readonly width: number;
  readonly layers: number;
  private readonly heads: number;
  private readonly headDim: number;
  private count = 0;
  private capacity = 0;
  private keys: Float32Array[];
  private values: Float32Array[];

  constructor(shape: ModelShape) {
    this.layers = shape.layers;
    this.heads = shape.keyValueHeads;
    this.headDim = shape.headDim;
    this.width = this.heads * this.headDim;
    this.keys = Array.from({ length: this.layers }, () => new Float32Array());
    this.values = [...this.keys];
  }

  /** Bytes of one token's keys and values in all layers. */
  get tokenBytes(): number {
    return 2 * Float32Array.BYTES_PER_ELEMENT * this.width * this.layers;
  }

  /** Tokens that every slot can hold. */
  get tokens(): number {
    return this.capacity;
  }

  /** Makes room for so many slots of so many tokens and gives memory back when much less is needed. Keeps `used` slots. */
  reserve(slots: number, tokens: number, used: number): void {
    const capacity = capacityFor(tokens);
    const isRoomy = this.capacity >= capacity && this.capacity <= capacity + 2 * CAPACITY_STEP;
    if (isRoomy && slots <= this.count) return;
    const count = Math.max(2, slots <= this.count ? this.count : 2 ** Math.ceil(Math.log2(slots)));
    const next = isRoomy ? this.capacity : capacity;
    this.keys = this.keys.map(from => this.relaid(from, { count, used, next, inner: 1, outer: this.width }));
    this.values = this.values.map(from =>
      this.relaid(from, { count, used, next, inner: this.headDim, outer: this.heads }),
    );
    this.count = count;
    this.capacity = next;
  }

  /** Copies the used slots' lines of capacity · inner numbers into a buffer of another capacity. */
  private relaid(
    from: Float32Array,
    to: { count: number; used: number; next: number; inner: number; outer: number },
  ): Float32Array {
    const [old, fresh] = [this.capacity * to.inner, to.next * to.inner];
    const target = new Float32Array(to.count * to.outer * fresh);
    const kept = Math.min(old, fresh);
    for (let line = 0; line < to.used * to.outer; line++)
      target.set(from.subarray(line * old, line * old + kept), line * fresh);
    return target;
  }

  /** Writes row `row` of token-major keys and values at a position of a slot. */
  write(
    layer: number,
    { slot, position }: { slot: number; position: number },
    rows: Rows,
    row: number,
  ): void {
    const { heads, headDim, capacity, width } = this;
    const keys = this.keys[layer]!;
    const values = this.values[layer]!;
    const source = row * width;
    const base = slot * width * capacity;
    for (let i = 0; i < width; i++) keys[base + i * capacity + position] = rows.keys[source + i]!;
    for (let head = 0; head < heads; head++) {
      const at = base + (head * capacity + position) * headDim;
      for (let i = 0; i < headDim; i++) values[at + i] = rows.values[source + head * headDim + i]!;
    }
  }

  /** Copies positions [from, to) of a slot out, token-major, into rows that begin at index `into`. */
  read(
    layer: number,
    { slot, from, to }: { slot: number; from: number; to: number },
    rows: Rows,
    into: number,
  ): void {
    const { heads, headDim, capacity, width } = this;
    const keys = this.keys[layer]!;
    const values = this.values[layer]!;
    const base = slot * width * capacity;
    for (let position = from; position < to; position++) {
      const target = (into + position - from) * width;
      for (let i = 0; i < width; i++) rows.keys[target + i] = keys[base + i * capacity + position]!;
      for (let head = 0; head < heads; head++) {
        const at = base + (head * capacity + position) * headDim;
        for (let i = 0; i < headDim; i++) rows.values[target + head * headDim + i] = values[at + i]!;
      }
    }
  }

  /** Gives all memory back. */
  clear(): void {
    this.count = this.capacity = 0;
    this.keys = this.keys.map(() => new Float32Array());
    this.values = [...this.keys];
  }

  move(from: number, to: number): void {
    const size = this.width * this.capacity;
    for (const buffer of [...this.keys, ...this.values])
      buffer.copyWithin(to * size, from * size, (from + 1) * size);
  }

  /** Graph inputs for `count` slots from `first` on; no copy. */
  feeds(layer: number, first: number, count: number): { keys: Tensor; values: Tensor } {
    const { heads, headDim, capacity } = this;
    const size = this.width * capacity;
    const part = (buffer: Float32Array): Float32Array =>
      buffer.subarray(first * size, (first + count) * size);
    return {
      keys: float32(part(this.keys[layer]!), [count, 1, heads, 1, headDim, capacity]),
      values: float32(part(this.values[layer]!), [count, 1, heads, 1, capacity, headDim]),
    };
  }
}
