/** The policy in this process: one set of weights, sampled from and trained. Knows nothing of processes or of the loop. */
import { FailureError } from '../../../core/types.ts';
import type { OpenSettings, Policy, PolicyInfo } from '../policy.ts';
import { openSampler, type Sampler } from './sampler.ts';
import { parameterCount } from '../../../core/modelShape.ts';
import { createTrainer, type Trainer } from './trainer.ts';
import { readModel, readOptimizer, writeModel, writeOptimizer, type StoredModel } from './weights.ts';

interface Engine {
  /** The arrays in `weights` are shared by sampler and trainer and change in place. */
  model: StoredModel;
  sampler: Sampler;
  trainer: Trainer;
  /** Ends what is being computed, between two graphs. */
  ending: AbortController;
}

/** A share of the memory limit goes to cached keys and values, within these bounds. */
const CACHE = { share: 1 / 4, least: 64 * 2 ** 20, most: 2 ** 30 };

/**
 * Verbs may be asked at any time. Those that change the weights wait until everything asked before them has ended, and
 * what is asked after them waits for them; training passes run one after the other, beside sampling.
 */
export function createEngine(): Policy {
  const gate = makeGate();
  const passes = makeGate();
  let engine: Engine | undefined;
  const opened = (): Engine => {
    if (engine) return engine;
    throw new FailureError({ where: 'bug', message: 'The policy is not open.' });
  };
  return {
    open: settings =>
      gate.exclusive(async () => {
        if (engine) throw new FailureError({ where: 'bug', message: 'The policy is open already.' });
        engine = await openEngine(settings);
        return infoOf(engine.model, settings);
      }),
    sample: request => gate.shared(() => opened().sampler.sample(request)),
    forget: prefix => gate.shared(() => opened().sampler.forget(prefix)),
    score: (trees, temperature) =>
      gate.shared(() => passes.exclusive(() => opened().trainer.score(trees, temperature))),
    accumulate: (batch, objective) =>
      gate.shared(() => passes.exclusive(() => opened().trainer.accumulate(batch, objective))),
    step: settings =>
      gate.exclusive(() => {
        const report = opened().trainer.step(settings);
        opened().sampler.forget('');
        return { ...report, memory: process.memoryUsage.rss() };
      }),
    save: (folder, withOptimizer) =>
      gate.exclusive(async () => {
        const { model, trainer } = opened();
        await writeModel(folder, model);
        if (withOptimizer) await writeOptimizer(folder, model.shape, trainer.optimizer());
      }),
    load: folder => gate.exclusive(() => loadInto(opened(), folder)),
    close() {
      // Whoever closes does not want what is still being computed: its asker is refused, and the graph that runs is the last.
      engine?.ending.abort();
      return gate.exclusive(async () => {
        await Promise.all([engine?.sampler.close(), engine?.trainer.release()]);
        engine = undefined;
      });
    },
  };
}

async function openEngine(settings: OpenSettings): Promise<Engine> {
  if (settings.device === 'webgpu') {
    const message = 'The device "webgpu" is not supported by the embedded engine yet.';
    throw new FailureError({ where: 'config', message, fix: 'Set the device to "cpu" or "auto".' });
  }
  const model = await readModel(settings.folder);
  const { shape, weights } = model;
  check(settings, model);
  const { threads, memoryLimitBytes, trainable, maxPathTokens, pieces, stops, endIds } = settings;
  const cacheBytes = Math.min(CACHE.most, Math.max(CACHE.least, memoryLimitBytes * CACHE.share));
  const ending = new AbortController();
  const sampler = await openSampler({
    shape,
    weights,
    threads,
    maxPathTokens,
    pieces,
    stops,
    endIds,
    cacheBytes,
    ending: ending.signal,
  });
  const training = { threads, memoryLimitBytes, trainable, ending: ending.signal };
  return { model, sampler, trainer: createTrainer(shape, weights, training), ending };
}

function check({ maxPathTokens, pieces }: OpenSettings, { shape }: StoredModel): void {
  const tokens = pieces.offsets.length - 1;
  if (maxPathTokens > shape.contextLength)
    throw new FailureError({
      where: 'config',
      message: `Paths may have ${maxPathTokens} tokens, but the model's context length is ${shape.contextLength}.`,
      fix: 'Lower the limits of prompt and response tokens.',
    });
  if (tokens > shape.vocabulary)
    throw new FailureError({
      where: 'policy',
      message: `The tokenizer knows ${tokens} tokens, but the model only ${shape.vocabulary}.`,
      fix: 'Use the tokenizer that belongs to the model.',
    });
}

const infoOf = ({ shape, sha256 }: StoredModel, { device }: OpenSettings): PolicyInfo => ({
  architecture: shape.architecture,
  parameters: parameterCount(shape),
  vocabularySize: shape.vocabulary,
  contextLength: shape.contextLength,
  device,
  weightsHash: sha256,
});

/** Copies into the arrays in use, because graphs and trainer hold on to them. */
async function loadInto({ model, sampler, trainer }: Engine, folder: string): Promise<void> {
  const { shape, weights, config } = await readModel(folder);
  if (JSON.stringify(shape) !== JSON.stringify(model.shape))
    throw new FailureError({
      where: 'policy',
      message: `The model in ${folder} has another shape than the one that is open.`,
      fix: 'Open it in a new run.',
    });
  const optimizer = await readOptimizer(folder, shape);
  for (const [name, values] of weights) model.weights.get(name)!.set(values);
  model.config = config;
  trainer.setOptimizer(optimizer);
  sampler.forget('');
}

interface Gate {
  /** Runs beside other shared tasks, after every exclusive one that was asked before. */
  shared<T>(task: () => T | Promise<T>): Promise<T>;
  /** Runs alone, after everything that was asked before. */
  exclusive<T>(task: () => T | Promise<T>): Promise<T>;
}

function makeGate(): Gate {
  let last: Promise<unknown> = Promise.resolve();
  const running = new Set<Promise<unknown>>();
  return {
    shared(task) {
      const result = last.then(task);
      const ended: Promise<unknown> = settled(result).then(() => running.delete(ended));
      running.add(ended);
      return result;
    },
    exclusive(task) {
      const result = Promise.all([last, ...running]).then(task);
      last = settled(result);
      return result;
    },
  };
}

/** The asker sees the failure; the queue only waits for the end. */
const settled = (promise: Promise<unknown>): Promise<unknown> => promise.then(done, done);
const done = (): void => undefined;
