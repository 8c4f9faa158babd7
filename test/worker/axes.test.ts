/** Every algorithm runs through the one loop, and what existed before an axis was added stays as it was, bit for bit. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'mocha';
import { type Preset } from '../../src/core/configKeys.ts';
import { batchesOf, trained } from '../fakes/loop.ts';

/** What three steps of a preset decided, credited and handed to the engine, as one digest. */
async function digestOf(preset: Preset): Promise<string> {
  const { written, policy } = await trained(preset);
  const trees = written.map(({ tree: { id, initial, total, paths, decisions, credit } }) => ({
    id,
    initial,
    total,
    paths: paths.map(({ leaf, origin, calls, stop, reward }) => [leaf, origin, calls, stop, reward?.total]),
    decisions: decisions.map(({ segment, path, round, probability, draw, outcome, child }) => [
      segment,
      path,
      round,
      probability,
      draw,
      outcome,
      child,
    ]),
    soft: credit?.soft,
    hard: credit?.hard,
  }));
  const batches = batchesOf(policy).map(({ batch, objective }) => ({
    terms: batch.trees.map(({ ids, termStart, termAdvantage, termWeight, termPath, oldLogProbs }) =>
      [ids, termStart, termAdvantage, termWeight, termPath, oldLogProbs ?? []].map(column => [...column]),
    ),
    bounds: [objective.kind, objective.clipLow, objective.clipHigh, String(objective.dualClip)],
    weights: [objective.klWeight, objective.entropyWeight],
  }));
  return createHash('sha256').update(JSON.stringify({ trees, batches })).digest('hex').slice(0, 16);
}

describe('algorithms as points on axes', () => {
  const before: [Preset, string][] = [
    ['arpo', 'f42431bddad14342'],
    ['arpo-upstream', '66c0c1196785617e'],
    ['grpo', '82e705c290c552ac'],
  ];
  for (const [preset, digest] of before)
    it(`leaves preset ${preset} as it was before the axes`, async () => {
      assert.equal(await digestOf(preset), digest);
    });
});
