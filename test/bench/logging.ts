/**
 * Measures what part of a training run's CPU time goes into writing down what happened: the sample's run for a few steps in
 * this process, engine included, under V8's sampling profiler; a sample counts as logging where a file of run's journal,
 * trees, columns or exports, or the keeper, is anywhere on its stack.
 */
import { Session, type Profiler } from 'node:inspector';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/run/configFile.ts';
import { createRun } from '../../src/run/create.ts';
import { realEquipment } from '../../src/worker/equipment.ts';
import { createEngine } from '../../src/worker/policy/embedded/engine.ts';
import { work } from '../../src/worker/session.ts';
import { cpuSeconds } from './models.ts';

const CONFIG = fileURLToPath(new URL('../../media/sample/sample.branchpoint.json', import.meta.url));
const STEPS = 12;
const SAMPLE_MICROSECONDS = 200;
const LOGGING =
  /\/src\/(run\/(journal|trees|treeShape|eventShape|lines|shape|disk|eventFile|trajectories)|worker\/keeper)\.ts$/;

export interface LoggingResult {
  /** Share of logging among the samples that were taken while the process was busy. */
  share: number;
  /** Of the whole process between the first step's start and the last one's end. */
  cpuSecondsPerStep: number;
}

/** What is not logging must not touch its files: there is neither an evaluation nor a checkpoint. */
export async function measureLogging(): Promise<LoggingResult> {
  const runs = mkdtempSync(join(tmpdir(), 'branchpoint-logging-'));
  try {
    const { config: sample, text } = loadConfig(CONFIG);
    const evaluation = { ...sample.evaluation, tasks: 0 };
    const config = { ...sample, runs, steps: STEPS, threads: 1, evaluation };
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
        if (type === 'step-started' && step === 1) start(profiler, () => (cpu = -cpuSeconds()));
        if (type !== 'step-finished' || step !== STEPS) return;
        cpu += cpuSeconds();
        profiler.post('Profiler.stop', (_, result) => (profile = result.profile));
      },
    }));
    if (outcome !== 'finished' || !profile) throw new Error(`The run ${outcome} without a profile.`);
    return { share: shareOf(profile), cpuSecondsPerStep: cpu / STEPS };
  } finally {
    rmSync(runs, { recursive: true });
  }
}

function start(profiler: Session, started: () => void): void {
  profiler.post('Profiler.enable');
  profiler.post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROSECONDS });
  profiler.post('Profiler.start', started);
}

/** By time, not by number: samples are late where native code runs long. */
function shareOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): number {
  const byId = new Map(nodes.map(node => [node.id, node]));
  const isLogging = new Map<number, boolean>();
  const visit = (id: number, isBelow: boolean): void => {
    const { callFrame, children = [] } = byId.get(id)!;
    const found = isBelow || LOGGING.test(callFrame.url);
    isLogging.set(id, found);
    for (const child of children) visit(child, found);
  };
  visit(nodes[0]!.id, false);
  let [logging, busy] = [0, 0];
  samples.forEach((id, i) => {
    if (byId.get(id)!.callFrame.functionName === '(idle)') return;
    busy += timeDeltas[i]!;
    if (isLogging.get(id)) logging += timeDeltas[i]!;
  });
  return logging / busy;
}
