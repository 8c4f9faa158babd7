/** Tiny random models against PyTorch: log-probabilities, entropies, logits, gradients. See test/golden/make_tiny_model.py. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'mocha';
import type { PackedTree } from '../../../../src/core/batch.ts';
import { readShape } from '../../../../src/core/modelShape.ts';
import { createTrainer } from '../../../../src/worker/policy/embedded/trainer.ts';
import type { Trainer } from '../../../../src/worker/policy/embedded/trainer.ts';
import { packPieces, worstDifference } from './fixtures.ts';

interface Row {
  ids: number[];
  advantages: number[];
  weights: number[];
  logProbs: number[];
  entropies: number[];
  lastLogits: number[];
}
interface Golden {
  temperature: number;
  entropyWeight: number;
  models: {
    config: { architectures: string[]; vocab_size: number };
    loss: number;
    rows: Row[];
    weights: Record<string, string>;
    gradients: Record<string, string>;
  }[];
}
const golden = JSON.parse(
  readFileSync(new URL('../../../golden/engine.json', import.meta.url), 'utf8'),
) as Golden;

/** Base64 of little-endian float32. */
const decode = (text: string): Float32Array =>
  new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer);

const packRow = ({ ids, advantages, weights }: Row): PackedTree => {
  const terms = ids.map((_, i) => (i === 0 ? [] : [{ advantage: advantages[i]!, weight: weights[i]! }]));
  return packPieces([{ parent: -1, ids, terms }]);
};

const close = (found: ArrayLike<number>, wanted: readonly number[], what: string): void =>
  wanted.forEach((value, i) =>
    assert.ok(Math.abs(found[i]! - value) <= 1e-4, `${what} ${i}: ${found[i]} instead of ${value}`),
  );

describe('The engine against PyTorch', () => {
  for (const model of golden.models) {
    const shape = readShape(model.config);
    const withTrainer = async (ask: (trainer: Trainer) => Promise<void>): Promise<void> => {
      const weights = new Map(Object.entries(model.weights).map(([name, text]) => [name, decode(text)]));
      const trainer = createTrainer(shape, weights, { threads: 1, memoryLimitBytes: 1e9, trainable: true });
      try {
        await ask(trainer);
      } finally {
        await trainer.release();
      }
    };

    it(`${shape.architecture} gives the same log-probabilities and entropies`, () =>
      withTrainer(async trainer => {
        const scores = await trainer.score(model.rows.map(packRow), golden.temperature);
        model.rows.forEach((row, r) => {
          close(scores[r]!.logProbs.subarray(1), row.logProbs, 'log-probability');
          close(scores[r]!.entropies.subarray(1), row.entropies, 'entropy');
          assert.ok(Number.isNaN(scores[r]!.logProbs[0]));
        });
      }));

    it(`${shape.architecture} gives the same distribution over every next token, asked as branches of one tree`, () =>
      withTrainer(async trainer => {
        const row = model.rows[1]!;
        const branches = row.lastLogits.map((_, id) => ({ parent: 0, ids: [id] }));
        const [scores] = await trainer.score([packPieces([{ parent: -1, ids: row.ids }, ...branches])], 1);
        const highest = Math.max(...row.lastLogits);
        const total =
          highest + Math.log(row.lastLogits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0));
        close(
          scores!.logProbs.subarray(row.ids.length),
          row.lastLogits.map(logit => logit - total),
          'next token',
        );
      }));

    it(`${shape.architecture} gives the same loss and gradients`, () =>
      withTrainer(async trainer => {
        const settings = {
          clipLow: 0.2,
          clipHigh: 0.2,
          dualClip: Infinity,
          klWeight: 0,
          entropyWeight: golden.entropyWeight,
        };
        const batch = { trees: model.rows.map(packRow), temperature: golden.temperature };
        const { report } = await trainer.accumulate(batch, { kind: 'policy', ...settings });
        assert.ok(Math.abs(report.loss - model.loss) < 1e-5, `loss ${report.loss} instead of ${model.loss}`);
        for (const [name, text] of Object.entries(model.gradients)) {
          const worst = worstDifference(trainer.gradients().get(name), decode(text));
          assert.ok(worst <= 1e-4, `${name}: ${worst.toExponential(1)} of its rms`);
        }
      }));
  }
});
