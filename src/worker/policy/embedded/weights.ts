/** A model and its optimiser's state as files in Hugging Face layout. Knows nothing of graphs, training or sampling. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FailureError } from '../../../core/types.ts';
import { attributed } from '../../../run/disk.ts';
import { readModelTensors, readTensors, writeTensors, type Tensor } from '../../../run/safetensors.ts';
import { emptyState, type OptimizerState } from './adamw.ts';
import { checkWeights, modelTensors, readShape, type ModelShape } from '../../../core/modelShape.ts';

export interface StoredModel {
  shape: ModelShape;
  /** config.json as it was read, so that keys which we do not know survive. */
  config: string;
  /** By Hugging Face names; exactly the tensors that the shape names. */
  weights: Map<string, Float32Array>;
  /** Hex SHA-256 of the weight files. */
  sha256: string;
}

/** Throws a FailureError that names what is missing or does not fit. */
export async function readModel(folder: string): Promise<StoredModel> {
  const config = await readFile(join(folder, 'config.json'), 'utf8').catch((error: Error) => {
    const fix = 'Point to a folder in Hugging Face layout: config.json, model.safetensors, tokenizer.json.';
    throw new FailureError({
      where: 'policy',
      message: `The model's config.json cannot be read: ${error.message}`,
      fix,
    });
  });
  const shape = readShape(parsed(config, folder));
  const { tensors, sha256 } = await readModelTensors(folder);
  const weights = new Map(
    [...tensors].filter(([name]) => modelTensors(shape).has(name)).map(([name, { data }]) => [name, data]),
  );
  checkWeights(shape, weights);
  return { shape, config, weights, sha256 };
}

function parsed(config: string, folder: string): unknown {
  try {
    return JSON.parse(config);
  } catch (error) {
    throw new FailureError({
      where: 'policy',
      message: `${join(folder, 'config.json')} is not JSON: ${(error as Error).message}`,
    });
  }
}

/** Writes config.json and model.safetensors into an existing folder. */
export async function writeModel(
  folder: string,
  { shape, config, weights }: Omit<StoredModel, 'sha256'>,
): Promise<void> {
  await writeFile(join(folder, 'config.json'), config).catch((error: unknown) => {
    throw attributed(error);
  });
  await writeTensors(join(folder, 'model.safetensors'), named(shape, weights, ''));
}

function* named(
  shape: ModelShape,
  arrays: ReadonlyMap<string, Float32Array>,
  prefix: string,
): Generator<[string, Tensor]> {
  for (const [name, dims] of modelTensors(shape)) {
    const data = arrays.get(name);
    if (data) yield [prefix + name, { shape: dims, data }];
  }
}

const OPTIMIZER_FILE = 'optimizer.safetensors';
const MOMENTS = ['first', 'second'] as const;

/** Tensors `first.<name>`, `second.<name>` and `steps` [1]. */
export async function writeOptimizer(
  folder: string,
  shape: ModelShape,
  state: OptimizerState,
): Promise<void> {
  await writeTensors(join(folder, OPTIMIZER_FILE), [
    ['steps', { shape: [1], data: Float32Array.of(state.steps) }],
    ...MOMENTS.flatMap(moment => [...named(shape, state[moment], `${moment}.`)]),
  ]);
}

/** A fresh state where the folder has none. */
export async function readOptimizer(folder: string, shape: ModelShape): Promise<OptimizerState> {
  const path = join(folder, OPTIMIZER_FILE);
  const state = emptyState();
  if (!existsSync(path)) return state;
  const dims = modelTensors(shape);
  for (const [name, { data, shape: found }] of await readTensors(path)) {
    const dot = name.indexOf('.');
    const moment = MOMENTS.find(each => each === name.slice(0, dot));
    const wanted = dims.get(name.slice(dot + 1));
    if (name === 'steps') state.steps = data[0] ?? 0;
    else if (moment && wanted && wanted.join() === found.join()) state[moment].set(name.slice(dot + 1), data);
    else
      throw new FailureError({
        where: 'store',
        message: `${path}: tensor ${name} [${found.join()}] does not belong to this model.`,
      });
  }
  return state;
}
