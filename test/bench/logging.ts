/**
 * Measures what part of a training run's CPU time goes into writing down what happened: the sample's run for a few steps in
 * this process, engine included, under V8's sampling profiler. A sample counts as logging where what exists for the record's sake
 * is anywhere on its stack: facts and who hears of them, the journal, trees and their columns, exports, and a step's numbers.
 */
import { Session, type Profiler } from 'node:inspector';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { modelTensors, readShape, sizeOf, type ModelShape } from '../../src/core/modelShape.ts';
import { loadConfig } from '../../src/run/configFile.ts';
import { createRun } from '../../src/run/create.ts';
import { realEquipment } from '../../src/worker/equipment.ts';
import { createEngine } from '../../src/worker/policy/embedded/engine.ts';
import { readModel, writeModel } from '../../src/worker/policy/embedded/weights.ts';
import { work } from '../../src/worker/session.ts';
import { cpuSeconds, shapes } from './models.ts';

const CONFIG = fileURLToPath(new URL('../../media/sample/sample.branchpoint.json', import.meta.url));
/** What the first steps run is compiled in them, the record's code as all other. */
const WARM_UP = 4;
const STEPS = 16;
const SAMPLE_MICROSECONDS = 200;
/** Nothing of the record takes as long at a time: where a sample comes later still, another process had the core. */
const LONGEST_MICROSECONDS = 500;
const LOGGING =
  /\/src\/(run\/(journal|trees|treeShape|eventShape|lines|shape|disk|eventFile|trajectories)|worker\/(keeper|status)|core\/summary)\.ts$/;
/** In session.ts, and in this file's watcher, whose work is none of the record's. */
const TELLING = /\/src\/worker\/session\.ts$/;
const WATCHING = /\/bench\/logging\.ts$/;

export interface LoggingResult {
  /** Of logging in the process's CPU time. */
  share: number;
  /** Of the whole process between the first step's start and the last one's end. */
  cpuSecondsPerStep: number;
}

/** What is not logging must not touch its files: there is neither an evaluation nor a checkpoint. */
export async function measureLogging(name: 'sample' | '4M'): Promise<LoggingResult> {
  const runs = mkdtempSync(join(tmpdir(), 'branchpoint-logging-'));
  try {
    const { config: sample, text } = loadConfig(CONFIG);
    const policyFolder = name === 'sample' ? sample.policy.path : await widened(sample.policy.path, runs);
    const evaluation = { ...sample.evaluation, tasks: 0 };
    const config = {
      ...sample,
      ...{ runs, steps: STEPS, threads: 1, evaluation, policy: { ...sample.policy, path: policyFolder } },
    };
    const { folder } = await createRun({ config, file: CONFIG, text, versions: {} });
    const real = realEquipment(() => undefined);
    const policy = createEngine();
    const profiler = new Session();
    profiler.connect();
    let cpu = 0;
    let profile: Profiler.Profile | undefined;
    const openPolicy: typeof real.openPolicy = async settings => ({
      policy,
      info: await policy.open(settings),
    });
    const outcome = await work(folder, { ...real, openPolicy }, () => ({
      ...{ isAlone: true, isTrial: true },
      tell({ type, step }) {
        if (type === 'step-started' && step === WARM_UP + 1) start(profiler, () => (cpu = -cpuSeconds()));
        if (type !== 'step-finished' || step !== STEPS) return;
        cpu += cpuSeconds();
        profiler.post('Profiler.stop', (_, result) => (profile = result.profile));
      },
    }));
    if (outcome !== 'finished' || !profile) throw new Error(`The run ${outcome} without a profile.`);
    return { share: loggingSeconds(profile) / cpu, cpuSecondsPerStep: cpu / (STEPS - WARM_UP) };
  } finally {
    rmSync(runs, { recursive: true });
  }
}

function start(profiler: Session, started: () => void): void {
  profiler.post('Profiler.enable');
  profiler.post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROSECONDS });
  profiler.post('Profiler.start', started);
}

/** Seconds. */
function loggingSeconds({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): number {
  const byId = new Map(nodes.map(node => [node.id, node]));
  const isLogging = new Map<number, boolean>();
  const visit = (id: number, isBelow: boolean): void => {
    const { callFrame, children = [] } = byId.get(id)!;
    const { url, functionName } = callFrame;
    const begins = LOGGING.test(url) || (TELLING.test(url) && functionName.startsWith('tell'));
    const found = (isBelow || begins) && !WATCHING.test(url);
    isLogging.set(id, found);
    for (const child of children) visit(child, found);
  };
  visit(nodes[0]!.id, false);
  let microseconds = 0;
  samples.forEach((id, i) => {
    if (isLogging.get(id)) microseconds += Math.min(timeDeltas[i]!, LONGEST_MICROSECONDS);
  });
  return microseconds / 1e6;
}

/**
 * Puts the sample's policy into a model as wide as the 4M shape, but for its vocabulary: what is added is 0, and norms are scaled to
 * what they find, so that it says the same and its steps have the same facts.
 */
async function widened(folder: string, into: string): Promise<string> {
  const { shape, config, weights } = await readModel(folder);
  const { hidden, feedForward } = shapes['4M'];
  const times = hidden / shape.hidden;
  const wider = {
    ...(JSON.parse(config) as object),
    ...{ hidden_size: hidden, intermediate_size: feedForward },
    ...{ num_attention_heads: shape.heads * times, num_key_value_heads: shape.keyValueHeads * times },
  };
  const to = readShape(wider);
  for (const name of ['tokenizer.json', 'tokenizer_config.json'])
    copyFileSync(join(folder, name), join(into, name));
  await writeModel(into, { shape: to, config: JSON.stringify(wider), weights: padded(weights, shape, to) });
  return into;
}

function padded(
  weights: ReadonlyMap<string, Float32Array>,
  from: ModelShape,
  to: ModelShape,
): Map<string, Float32Array> {
  const before = modelTensors(from);
  return new Map(
    Array.from(modelTensors(to), ([name, dims]) => {
      const [rows, columns] = [...[1, ...before.get(name)!].slice(-2)] as [number, number];
      const width = dims.at(-1)!;
      const scale = dims.length === 1 ? Math.sqrt(columns / width) : 1;
      const target = new Float32Array(sizeOf(dims));
      for (let row = 0; row < rows; row++)
        target.set(
          weights
            .get(name)!
            .subarray(row * columns, (row + 1) * columns)
            .map(weight => weight * scale),
          row * width,
        );
      return [name, target];
    }),
  );
}
