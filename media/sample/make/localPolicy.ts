/** The embedded trainer in this process: for fine-tuning only, without sampling. Knows nothing of what it learns. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readModelTensors, readTensors, writeTensors, type Tensor } from '../../../src/run/safetensors.ts';
import { modelTensors, readShape } from '../../../src/worker/policy/embedded/shape.ts';
import { createTrainer } from '../../../src/worker/policy/embedded/trainer.ts';
import type { Policy } from '../../../src/worker/policy/policy.ts';

export interface LocalPolicy extends Pick<Policy, 'accumulate' | 'step' | 'close'> {
  save(folder: string): Promise<void>;
}

export async function openLocalPolicy(folder: string, threads: number): Promise<LocalPolicy> {
  const shape = readShape(JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')));
  const { tensors } = await readModelTensors(folder);
  const weights = new Map([...tensors].map(([name, { data }]) => [name, data]));
  const trainer = createTrainer(shape, weights, { threads, memoryLimitBytes: 4e9, trainable: true });
  const optimizerFile = join(folder, 'optimizer.safetensors');
  if (existsSync(optimizerFile)) {
    const saved = await readTensors(optimizerFile);
    const moments = (kind: string): Map<string, Float32Array> =>
      new Map(
        [...saved]
          .filter(([name]) => name.startsWith(kind))
          .map(([name, { data }]) => [name.slice(kind.length), data]),
      );
    trainer.setOptimizer({
      steps: saved.get('steps')!.data[0]!,
      first: moments('first.'),
      second: moments('second.'),
    });
  }
  const shaped = (entries: Iterable<[string, Float32Array]>, prefix = ''): [string, Tensor][] =>
    [...entries].map(([name, data]) => [prefix + name, { shape: modelTensors(shape).get(name)!, data }]);
  return {
    accumulate: (batch, objective) => trainer.accumulate(batch, objective),
    step: settings => Promise.resolve(trainer.step(settings)),
    close: () => trainer.release(),
    async save(target) {
      const { steps, first, second } = trainer.optimizer();
      await writeTensors(join(target, 'model.safetensors'), shaped(weights));
      await writeTensors(join(target, 'optimizer.safetensors'), [
        ['steps', { shape: [1], data: Float32Array.of(steps) }],
        ...shaped(first, 'first.'),
        ...shaped(second, 'second.'),
      ]);
    },
  };
}
