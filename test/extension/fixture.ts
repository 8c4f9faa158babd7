/** A tree of two trajectories over byte tokens: a search that both share, a branch after its answer. */
import type { TokenColumns, Tree } from '../../src/core/types.ts';
import { makePieces } from '../../src/core/pieces.ts';
import type { Segment } from '../../src/core/types.ts';

/** Token n is byte n, so that ids are the UTF-8 bytes of the text; 256 is a token that no text writes. */
export const bytePieces = makePieces([
  ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  new TextEncoder().encode('<end>'),
]);

export interface Planned {
  parent: number;
  kind: Segment['kind'];
  text: string;
  turn: number;
  extra?: Partial<Segment>;
}

export function makeTree(plan: readonly Planned[]): { tree: Tree; columns: TokenColumns } {
  const ids: number[] = [];
  const segments = plan.map(({ parent, kind, text, turn, extra }): Segment => {
    const bytes = new TextEncoder().encode(text);
    const start = ids.length;
    for (const byte of bytes) ids.push(byte);
    return { parent, kind, start, count: bytes.length, text, turn, ...extra };
  });
  const isModel = Float32Array.from(
    segments.flatMap(({ kind, count }) => Array<number>(count).fill(kind === 'model' ? 1 : NaN)),
  );
  const columns = {
    ids: Int32Array.from(ids),
    samplerLogProbs: isModel.map(one => -0.5 * one),
    trainerLogProbs: isModel.map(one => -0.25 * one),
    entropies: isModel.map((one, i) => one * ((i % 5) * 0.5)),
  };
  // What one test changes is nothing to another.
  return { columns, tree: { ...structuredClone(RECORD), segments } };
}

const RECORD: Omit<Tree, 'segments'> = {
  id: '41.3',
  step: 41,
  task: { id: 'world-7', question: 'Largest city?', references: ['Oslo', 'oslo'], ability: 'lookup' },
  rule: 'paper',
  initial: 1,
  total: 2,
  paths: [
    {
      leaf: 3,
      origin: 'initial',
      calls: 1,
      stop: 'answer',
      reward: {
        total: 1,
        parts: {},
        correct: true,
        answer: 'Oslo',
        reason: 'The answer equals a reference.',
      },
    },
    {
      leaf: 4,
      origin: 'branch',
      from: { path: 0, segment: 2 },
      calls: 1,
      stop: 'length',
      reward: { total: -1, parts: {}, correct: false, reason: 'No answer was found.' },
    },
  ],
  decisions: [
    {
      segment: 2,
      path: 0,
      round: 0,
      rule: 'paper',
      gate: 'bernoulli',
      initialEntropy: 0.21,
      entropy: 0.52,
      entropyDelta: 0.31,
      windowTokens: 10,
      branchProbability: 0.5,
      entropyWeight: 0.2,
      probability: 0.562,
      draw: 0.4,
      made: 1,
      total: 2,
      outcome: 'branch',
      child: 1,
    },
  ],
  credit: { soft: [1, -1], hard: [null, 0, null, 1, -1], used: 'hard' },
};

/** The tree that most tests read. */
export const smallTree = (): ReturnType<typeof makeTree> =>
  makeTree([
    { parent: -1, kind: 'prompt', text: 'Largest city?\n', turn: 0 },
    {
      parent: 0,
      kind: 'model',
      text: '<think>Look it\nup.</think>\n<search>city</search>',
      turn: 0,
      extra: { stop: 'call', entropy: 0.21 },
    },
    {
      parent: 1,
      kind: 'tool',
      text: '<result>\nOslo\n</result>',
      turn: 1,
      extra: { call: { tool: 'search', argument: 'city', outcome: 'ok', latencyMs: 411.6, shared: false } },
    },
    { parent: 2, kind: 'model', text: 'Oslo é😀', turn: 1, extra: { stop: 'answer' } },
    { parent: 2, kind: 'model', text: 'I do not know', turn: 1, extra: { stop: 'length' } },
  ]);
