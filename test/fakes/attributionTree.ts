/** The tree of algorithm notes V5.3: two paths that share three tokens and a result, and two on their own. */
import type { Grown } from '../../src/core/tree.ts';
import type { Segment, Tree } from '../../src/core/types.ts';

const KINDS: [parent: number, kind: Segment['kind'], count: number][] = [
  [-1, 'prompt', 2],
  [0, 'model', 3],
  [1, 'tool', 2],
  [2, 'model', 4],
  [0, 'model', 5],
  [2, 'model', 2],
  [0, 'model', 6],
];

export function attributionTree(rewards: readonly number[] = [1.1, 0, -1, 1]): Grown {
  let start = 0;
  const segments = KINDS.map(([parent, kind, count]): Segment => {
    const segment = { parent, kind, start, count, text: '', turn: parent === 2 ? 1 : 0 };
    start += count;
    return segment;
  });
  const tree: Tree = {
    id: '1.0',
    step: 1,
    task: { id: 'task', question: '?', references: ['1'], ability: '' },
    rule: 'paper',
    initial: 3,
    total: 4,
    segments,
    paths: [3, 4, 5, 6].map((leaf, path) => ({
      leaf,
      origin: path === 2 ? 'branch' : 'initial',
      ...(path === 2 && { from: { path: 0, segment: 2 } }),
      calls: leaf === 3 || leaf === 5 ? 1 : 0,
      stop: 'answer',
      reward: { total: rewards[path]!, parts: {}, correct: rewards[path]! >= 1, reason: '' },
    })),
    decisions: [],
  };
  const columns = {
    ids: Int32Array.from({ length: start }, (_, token) => token),
    samplerLogProbs: new Float32Array(start).fill(NaN),
    trainerLogProbs: new Float32Array(start).fill(NaN),
    entropies: new Float32Array(start).fill(NaN),
  };
  return { tree, columns };
}
