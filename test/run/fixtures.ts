/** Temporary run folders and small trees for the tests of src/run. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Fact } from '../../src/core/events.ts';
import { uniform } from '../../src/core/random.ts';
import type { TokenColumns, Tree } from '../../src/core/types.ts';
import { writeTrees, type TreeFiles } from '../../src/run/trees.ts';
import { stepSummary } from '../fakes/stepSummary.ts';

/** Runs `use` with a new folder and removes it afterwards. */
export async function inFolder(use: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'branchpoint-test-'));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes one tree and says where. */
export const writeTree = (files: TreeFiles, tree: Tree, columns: TokenColumns) =>
  writeTrees(files, [{ tree, columns }])[0]!;

/** A tree of a prompt, a call, its result and two answers, one of them a branch. */
export function smallTree(step: number, index: number): { tree: Tree; columns: TokenColumns } {
  const tokens = 12;
  const float = (column: number) =>
    Float32Array.from({ length: tokens }, (_, i) =>
      column === 1 && i < 3 ? NaN : -uniform(step * 97 + index, column * 64 + i),
    );
  const reward = (total: number) => ({
    total,
    parts: { accuracy: total },
    correct: total === 1,
    reason: 'Compared.',
  });
  const tree: Tree = {
    id: `${step}.${index}`,
    step,
    task: {
      id: `task-${index}`,
      question: 'What is the capital of Perú?',
      references: ['Lima'],
      ability: 'qa',
    },
    rule: 'paper',
    initial: 1,
    total: 2,
    segments: [
      { parent: -1, kind: 'prompt', start: 0, count: 3, text: 'Q', turn: 0 },
      { parent: 0, kind: 'model', start: 3, count: 3, text: '<search>', turn: 0, stop: 'call', entropy: 0.5 },
      {
        parent: 1,
        kind: 'tool',
        start: 6,
        count: 2,
        text: '<result>',
        turn: 1,
        call: { tool: 'search', argument: 'Perú', outcome: 'ok', latencyMs: 3, shared: false },
      },
      { parent: 2, kind: 'model', start: 8, count: 2, text: 'Lima', turn: 1, stop: 'answer' },
      { parent: 2, kind: 'model', start: 10, count: 2, text: 'Quito', turn: 1, stop: 'answer' },
    ],
    paths: [
      { leaf: 3, origin: 'initial', calls: 1, stop: 'answer', reward: reward(1) },
      {
        leaf: 4,
        origin: 'branch',
        from: { path: 0, segment: 2 },
        calls: 1,
        stop: 'answer',
        reward: reward(0),
      },
    ],
    decisions: [
      {
        segment: 2,
        path: 0,
        round: 1,
        rule: 'paper',
        gate: 'bernoulli',
        initialEntropy: 0.5,
        entropy: 0.75,
        entropyDelta: 0.25,
        windowTokens: 2,
        branchProbability: 0.5,
        entropyWeight: 0.2,
        probability: 0.55,
        draw: 0.1,
        made: 1,
        total: 2,
        outcome: 'branch',
        child: 1,
      },
    ],
    credit: { soft: [0.7, -0.7], hard: [null, 0, null, 0.7, -0.7], used: 'soft' },
  };
  const ids = Int32Array.from({ length: tokens }, (_, i) => Math.floor(uniform(step, i) * 1e6));
  return {
    tree,
    columns: { ids, samplerLogProbs: float(1), trainerLogProbs: float(2), entropies: float(3) },
  };
}

export const STARTED: Fact = {
  type: 'run-started',
  format: { major: 1, minor: 0 },
  run: 'test-1',
  steps: 3,
  tasks: 100,
  tools: { search: 'index' },
  device: 'cpu',
  parameters: 1000,
  seed: 1,
};

/** As a step tells it that made no update, so that it has no gradient. */
export const finished = (reward: number): Fact => ({
  type: 'step-finished',
  summary: stepSummary({
    reward: { mean: reward, std: 0.5, p10: 0, p90: 1, parts: { accuracy: reward } },
    accuracy: reward,
    gradientNorm: NaN,
    skippedUpdates: 1,
  }),
});
