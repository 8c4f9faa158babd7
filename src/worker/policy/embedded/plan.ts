/** Lays packed trees out for the layer graphs: which rows attend to which. Knows nothing of weights or sessions. */
import type { PackedTree } from '../../../core/batch.ts';
import { float32, int32 } from './sessions.ts';
import type { Tensor } from './sessions.ts';
import type { ModelShape } from './shape.ts';

/** Trees that run through the layers together, row by row: tree t has the rows rowStart[t] .. rowStart[t + 1] - 1. */
export interface Pack {
  trees: readonly PackedTree[];
  /** Index of each tree in the batch that was packed. */
  indices: readonly number[];
  /** [tree + 1] */
  rowStart: Int32Array;
  /** Feeds of the layer graphs, the same for every layer. */
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

/** Rows of one block: small enough that branches do not pay for each other, large enough for matrix products. */
const BLOCK_ROWS = 64;
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

function attentionFeeds(blocks: readonly Block[], rows: number): Record<string, Tensor> {
  const queries = Math.max(...blocks.map(block => block.end - block.first));
  const keys = Math.max(...blocks.map(block => block.keys.length));
  const queryRows = new Int32Array(blocks.length * queries);
  const querySlots = new Int32Array(rows);
  const queryCounts = new Float32Array(blocks.length * queries);
  const keyRows = new Int32Array(blocks.length * keys);
  const mask = new Float32Array(blocks.length * queries * keys).fill(HIDDEN);
  blocks.forEach((block, b) => {
    for (let row = block.first; row < block.end; row++) {
      const slot = b * queries + row - block.first;
      queryRows[slot] = row;
      querySlots[row] = slot;
      queryCounts[slot] = 1;
    }
    block.keys.forEach((key, k) => (keyRows[b * keys + k] = block.treeStart + key));
    writeMask(mask, b * queries * keys, keys, block);
  });
  return {
    queryRows: int32(queryRows, [blocks.length, queries]),
    querySlots: int32(querySlots),
    queryCounts: float32(queryCounts, [blocks.length, queries, 1]),
    keyRows: int32(keyRows, [blocks.length, keys]),
    mask: float32(mask, [blocks.length, 1, 1, queries, keys]),
  };
}

/** cos and sin of position · theta^(−2i / headDim), i < headDim / 2, for every row. */
function rotaryFeeds(
  { headDim, ropeTheta }: ModelShape,
  trees: readonly PackedTree[],
  rows: number,
): Record<string, Tensor> {
  const half = headDim / 2;
  const frequencies = Float64Array.from({ length: half }, (_, i) => ropeTheta ** ((-2 * i) / headDim));
  const cos = new Float32Array(rows * half);
  const sin = new Float32Array(rows * half);
  let at = 0;
  for (const { positions } of trees)
    for (const position of positions)
      for (const frequency of frequencies) {
        cos[at] = Math.cos(position * frequency);
        sin[at++] = Math.sin(position * frequency);
      }
  return { cos: float32(cos, [1, rows, half]), sin: float32(sin, [1, rows, half]) };
}

function makePack(shape: ModelShape, trees: readonly PackedTree[], indices: readonly number[]): Pack {
  const rowStart = new Int32Array(trees.length + 1);
  trees.forEach((tree, t) => (rowStart[t + 1] = rowStart[t]! + tree.ids.length));
  const rows = rowStart[trees.length]!;
  const blocks = trees.flatMap((tree, t) => blocksOf(tree, rowStart[t]!));
  return {
    trees,
    indices,
    rowStart,
    feeds: { ...attentionFeeds(blocks, rows), ...rotaryFeeds(shape, trees, rows) },
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
