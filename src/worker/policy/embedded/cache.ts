/** Keys and values of stretches by their keys, so that a branch shares its parent's. Knows nothing of graphs or of drawing. */
import type { Stretch } from '../policy.ts';
import type { Rows, Slots } from './slots.ts';

interface Entry {
  /** Leading tokens whose keys and values are there; the last token of a continuation is cached only when it is read on. */
  filled: number;
  /** [layer] with room for all tokens of the stretch. */
  layers: Rows[];
  bytes: number;
}

/** Entries are hints: the least recently used ones go when the limit is passed. */
export class StretchCache {
  private readonly entries = new Map<string, Entry>();
  private readonly limitBytes: number;
  private bytes = 0;

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  /** Number of leading tokens of the path that are cached. */
  covered(path: readonly Stretch[]): number {
    let tokens = 0;
    for (const { key, ids } of path) {
      const filled = Math.min(this.entries.get(key)?.filled ?? 0, ids.length);
      tokens += filled;
      if (filled < ids.length) break;
    }
    return tokens;
  }

  /** Copies the path's first `count` tokens, all of which must be covered, into a slot. */
  load(path: readonly Stretch[], count: number, slots: Slots, slot: number): void {
    let position = 0;
    for (const { key, ids } of path) {
      const wanted = Math.min(ids.length, count - position);
      if (wanted <= 0) return;
      const entry = this.entries.get(key)!;
      this.entries.delete(key);
      this.entries.set(key, entry);
      entry.layers.forEach((rows, layer) => {
        for (let row = 0; row < wanted; row++)
          slots.write(layer, { slot, position: position + row }, rows, row);
      });
      position += wanted;
    }
  }

  /** Keeps what a slot holds of the path: its first `count` tokens. */
  store(path: readonly Stretch[], count: number, slots: Slots, slot: number): void {
    let start = 0;
    for (const { key, ids } of path) {
      const filled = Math.min(ids.length, count - start);
      if (filled <= 0) break;
      const entry = this.entries.get(key) ?? this.make(key, ids.length, slots);
      if (filled > entry.filled) {
        const span = { slot, from: start + entry.filled, to: start + filled };
        entry.layers.forEach((rows, layer) => slots.read(layer, span, rows, entry.filled));
        entry.filled = filled;
      }
      start += ids.length;
    }
    this.evict();
  }

  forget(keyPrefix: string): void {
    for (const key of this.entries.keys()) if (key.startsWith(keyPrefix)) this.drop(key);
  }

  private make(key: string, tokens: number, slots: Slots): Entry {
    const room = (): Float32Array => new Float32Array(tokens * slots.width);
    const layers = Array.from({ length: slots.layers }, () => ({ keys: room(), values: room() }));
    const entry = { filled: 0, layers, bytes: tokens * slots.tokenBytes };
    this.entries.set(key, entry);
    this.bytes += entry.bytes;
    return entry;
  }

  /** Forgets one stretch. */
  drop(key: string): void {
    this.bytes -= this.entries.get(key)?.bytes ?? 0;
    this.entries.delete(key);
  }

  private evict(): void {
    for (const key of this.entries.keys()) {
      if (this.bytes <= this.limitBytes) return;
      this.drop(key);
    }
  }
}
