/** Lays packed trees out for the layer graphs: which rows attend to which. Knows nothing of weights or sessions. */
import type { PackedTree } from '../../../core/batch.ts';
import { rotaryAngles } from './rotary.ts';
import { planRowSums, rowSumFeeds } from './rowSums.ts';
import { float32, int32 } from './sessions.ts';
import type { Tensor } from './sessions.ts';
import type { ModelShape } from '../../../core/modelShape.ts';

/** Trees that run through the layers together, row by row: tree t has the rows rowStart[t] .. rowStart[t + 1] - 1. */
export interface Pack {
  trees: readonly PackedTree[];
  /** Index of each tree in the batch that was packed. */
  indices: readonly number[];
  /** [tree + 1] */
  rowStart: Int32Array;
  /** Number of groups of blocks in the feeds; the graphs must be made for as many. */
  groups: number;
  /** Pairs of a query row and a key row whose scores are computed, hidden ones included. */
  pairs: number;
  /**
   * Feeds of the layer graphs forward and backward, the same for every layer; see attention.ts for those that end in a
   * group's number.
   */
  feeds: Readonly<Record<string, Tensor>>;
}

/**
 * Queries are attended to in blocks of consecutive rows, each with the list of keys that any of them may see, so that a
 * branch costs its own path and not the whole tree.
 */
interface Block {
  /** First row of the block, and the row after its last, in the pack. */
  first: number;
  end: number;
  /** First row of the block's tree. */
  treeStart: number;
  tree: PackedTree;
  /** Rows of the tree that some query of the block sees, ascending. */
  keys: Int32Array;
}

/**
 * Most rows of one block: few enough that branches hardly pay for each other, and enough that looking up a block's keys
 * costs little beside its products.
 */
const BLOCK_ROWS = 128;
/** Added to scores of keys that are not seen. Finite, so that a padding query without any key has no NaN. */
const HIDDEN = -1e9;

/** Keys j of queries first .. end - 1: j is before the end and its subtree reaches past the first query. */
function visibleKeys({ subtreeEnd }: PackedTree, first: number, end: number): Int32Array {
  const keys: number[] = [];
  for (let j = 0; j < end; j++) if (subtreeEnd[j]! > first) keys.push(j);
  return Int32Array.from(keys);
}

function blocksOf(tree: PackedTree, treeStart: number): Block[] {
  const count = Math.ceil(tree.ids.length / BLOCK_ROWS);
  const rows = Math.ceil(tree.ids.length / count);
  return Array.from({ length: count }, (_, i) => {
    const first = i * rows;
    const end = Math.min(tree.ids.length, first + rows);
    return {
      first: treeStart + first,
      end: treeStart + end,
      treeStart,
      tree,
      keys: visibleKeys(tree, first, end),
    };
  });
}

/** Most groups of blocks in a pack. Each costs some nodes; more hardly lower the number of hidden pairs. */
const MOST_GROUPS = 4;
/** One group more must save this share of the pairs. */
const WORTHWHILE = 0.05;

const queriesOf = (blocks: readonly Block[]): number =>
  Math.max(...blocks.map(({ first, end }) => end - first));
/** Blocks of a group are padded to the longest. */
const keysOf = (blocks: readonly Block[]): number => Math.max(...blocks.map(({ keys }) => keys.length));
const pairsOf = (blocks: readonly Block[]): number => blocks.length * queriesOf(blocks) * keysOf(blocks);

/** Puts blocks with similar numbers of keys together, so that few keys are padding. */
function grouped(blocks: readonly Block[]): Block[][] {
  const sorted = blocks.toSorted((a, b) => b.keys.length - a.keys.length);
  let found = [sorted];
  for (let count = 2; count <= Math.min(MOST_GROUPS, sorted.length); count++) {
    const next = bestSplit(found);
    const pairs = (groups: readonly Block[][]): number =>
      groups.reduce((sum, group) => sum + pairsOf(group), 0);
    if (pairs(next) > (1 - WORTHWHILE) * pairs(found)) return found;
    found = next;
  }
  return found;
}

/** Cuts the one group in two, at the one place, where that saves the most pairs. */
function bestSplit(groups: readonly Block[][]): Block[][] {
  const cuts = groups.flatMap((group, index) =>
    group.slice(1).map((_, i) => {
      const parts = [group.slice(0, i + 1), group.slice(i + 1)];
      return { index, parts, saved: pairsOf(group) - pairsOf(parts[0]!) - pairsOf(parts[1]!) };
    }),
  );
  const { index, parts } = cuts.reduce((best, cut) => (cut.saved > best.saved ? cut : best));
  return groups.flatMap((group, i) => (i === index ? parts : [group]));
}

/** Query row i of the block sees key j iff j <= i < subtreeEnd[j]. */
function writeMask(
  mask: Float32Array,
  at: number,
  keyCount: number,
  { first, end, treeStart, tree, keys }: Block,
): void {
  for (let i = first - treeStart; i < end - treeStart; i++, at += keyCount)
    for (let k = 0; k < keys.length; k++) {
      const j = keys[k]!;
      if (j <= i && i < tree.subtreeEnd[j]!) mask[at + k] = 0;
    }
}

/** [block, kv, key] index of row · kv + head, or `padding` where the block has fewer keys. */
function keyIndices(kv: number, blocks: readonly Block[], padding: number): Int32Array {
  const keyCount = keysOf(blocks);
  const indices = new Int32Array(blocks.length * kv * keyCount).fill(padding);
  blocks.forEach(({ keys, treeStart }, b) => {
    for (let head = 0; head < kv; head++)
      keys.forEach((key, k) => (indices[(b * kv + head) * keyCount + k] = (treeStart + key) * kv + head));
  });
  return indices;
}

/** Feeds of the way back: the gradients of all groups' keys are added up by the rows that the keys are of. */
function keySumFeeds(
  { keyValueHeads: kv }: ModelShape,
  groups: readonly Block[][],
  rows: number,
): Record<string, Tensor> {
  const parts = groups.map(blocks => keyIndices(kv, blocks, -1));
  const targetOf = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    targetOf.set(part, at);
    at += part.length;
  }
  return rowSumFeeds(planRowSums(targetOf, rows * kv));
}

/** Writes one group's feeds, and the places of its queries' heads into `slots`, counted from `firstSlot` on. */
function groupFeeds(
  { heads, keyValueHeads: kv }: ModelShape,
  blocks: readonly Block[],
  slots: Int32Array,
  firstSlot: number,
): Record<'queries' | 'counts' | 'keys' | 'mask', Tensor> {
  const group = heads / kv;
  const queryCount = queriesOf(blocks);
  const keyCount = keysOf(blocks);
  const [wide, size] = [group * queryCount, blocks.length];
  const queries = new Int32Array(size * kv * wide);
  const counts = new Float32Array(size * wide);
  const mask = new Float32Array(size * wide * keyCount).fill(HIDDEN);
  blocks.forEach((block, b) => {
    for (let head = 0; head < heads; head++) {
      const line = (b * heads + head) * queryCount;
      for (let row = block.first; row < block.end; row++) {
        queries[line + row - block.first] = row * heads + head;
        slots[row * heads + head] = firstSlot + line + row - block.first;
      }
    }
    const rows = block.end - block.first;
    for (let i = 0; i < group; i++) {
      const line = b * wide + i * queryCount;
      counts.fill(1, line, line + rows);
      writeMask(mask, line * keyCount, keyCount, block);
    }
  });
  return {
    queries: int32(queries, [size, kv, wide]),
    counts: float32(counts, [size, 1, wide, 1]),
    keys: int32(keyIndices(kv, blocks, 0), [size, kv, keyCount]),
    mask: float32(mask, [size, 1, wide, keyCount]),
  };
}

function attentionFeeds(shape: ModelShape, groups: readonly Block[][], rows: number): Record<string, Tensor> {
  const slots = new Int32Array(rows * shape.heads);
  const feeds: Record<string, Tensor> = { slots: int32(slots) };
  let firstSlot = 0;
  groups.forEach((blocks, n) => {
    for (const [name, tensor] of Object.entries(groupFeeds(shape, blocks, slots, firstSlot)))
      feeds[`${name}${n}`] = tensor;
    firstSlot += blocks.length * shape.heads * queriesOf(blocks);
  });
  return feeds;
}

/** The rotary embedding's angles for every row. */
function rotaryFeeds(shape: ModelShape, trees: readonly PackedTree[], rows: number): Record<string, Tensor> {
  const half = shape.headDim / 2;
  let positions = 0;
  for (const tree of trees)
    for (const position of tree.positions) positions = Math.max(positions, position + 1);
  const angles = rotaryAngles(shape, positions);
  const byRow = (known: Float32Array): Tensor => {
    const out = new Float32Array(rows * half);
    let row = 0;
    for (const tree of trees)
      for (const position of tree.positions)
        out.set(known.subarray(position * half, (position + 1) * half), half * row++);
    return float32(out, [1, rows, half]);
  };
  return { cos: byRow(angles.cos), sin: byRow(angles.sin) };
}

function makePack(shape: ModelShape, trees: readonly PackedTree[], indices: readonly number[]): Pack {
  const rowStart = new Int32Array(trees.length + 1);
  trees.forEach((tree, t) => (rowStart[t + 1] = rowStart[t]! + tree.ids.length));
  const rows = rowStart[trees.length]!;
  const groups = grouped(trees.flatMap((tree, t) => blocksOf(tree, rowStart[t]!)));
  return {
    trees,
    indices,
    rowStart,
    groups: groups.length,
    pairs: groups.reduce((sum, blocks) => sum + pairsOf(blocks), 0),
    feeds: {
      ...attentionFeeds(shape, groups, rows),
      ...keySumFeeds(shape, groups, rows),
      ...rotaryFeeds(shape, trees, rows),
    },
  };
}

/**
 * Puts trees of similar length together, up to `budget` rows a pack; a tree is never split, so one longer than the
 * budget has a pack of its own. Trees without tokens are left out.
 */
export function* packs(shape: ModelShape, trees: readonly PackedTree[], budget: number): Generator<Pack> {
  const order = [...trees.keys()]
    .filter(i => trees[i]!.ids.length > 0)
    .sort((a, b) => trees[b]!.ids.length - trees[a]!.ids.length);
  let open: number[] = [];
  let rows = 0;
  const close = (): Pack =>
    makePack(
      shape,
      open.map(i => trees[i]!),
      open,
    );
  for (const i of order) {
    const length = trees[i]!.ids.length;
    if (open.length > 0 && rows + length > budget) {
      yield close();
      open = [];
      rows = 0;
    }
    open.push(i);
    rows += length;
  }
  if (open.length > 0) yield close();
}
