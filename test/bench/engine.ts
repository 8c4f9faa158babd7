/**
 * Measures the engine, and, with `--peer PYTHON` (a Python with torch and transformers), its peers in the same run: shares of
 * ONNX Runtime's own matrix products, ratios of CPU time, one core and two. `node .ci/node24.mjs test/bench/engine.ts
 * [--large] [--quick] [--json] [--peer PYTHON]`; `--large` adds the 0.5B shape, `--quick` leaves out the 135M shape. The
 * last line is one JSON object. Ratios above 1 mean that the engine is faster.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { STEADY_MEMORY } from '../../src/worker/policy/embedded/client.ts';
import type { DecodeResult } from './decode.ts';
import type { LoggingResult } from './logging.ts';
import { prompts, type StepResult } from './step.ts';
import { rowsOf, type ShapeName, type Spent } from './models.ts';
import type { TrainResult } from './train.ts';

const flag = (name: string): boolean => process.argv.includes(`--${name}`);
const at = process.argv.indexOf('--peer');
const python = at > 0 ? process.argv[at + 1] : undefined;
const isTold = flag('json');

/** Runs a program and parses the last line that it prints. */
function lastLine<T>(program: string, args: readonly string[]): T {
  const env = { ...process.env, ...STEADY_MEMORY };
  const stdio = ['ignore', 'pipe', 'ignore'] as ['ignore', 'pipe', 'ignore'];
  const output = execFileSync(program, args, { encoding: 'utf8', env, stdio });
  return JSON.parse(output.trim().split('\n').at(-1)!) as T;
}

/** Every measurement has a process of its own, so that none finds another's memory. */
const ours = <T>(...args: (string | number)[]): T =>
  lastLine(process.execPath, [fileURLToPath(new URL('measure.ts', import.meta.url)), ...args.map(String)]);
const peer = <T>(script: string, ...args: (string | number)[]): T | undefined =>
  python === undefined
    ? undefined
    : lastLine(python, [fileURLToPath(new URL(`peers/${script}.py`, import.meta.url)), ...args.map(String)]);

const results: Record<string, number | string> = { instructionSet: instructionSet(), cpu: cpus()[0]!.model };

function instructionSet(): string {
  if (process.platform !== 'linux') return process.arch;
  const flags = readFileSync('/proc/cpuinfo', 'utf8');
  return ['avx512f', 'avx2'].find(name => flags.includes(name)) ?? process.arch;
}

/** Each figure as it comes: on stderr where stdout is JSON. */
const tell = isTold ? console.error : console.log;

function note(key: string, value: number | undefined): void {
  if (value === undefined) return;
  results[key] = Number(value.toPrecision(3));
  tell(`${key}: ${results[key]}`);
}

const over = (a: number | undefined, b: number): number | undefined => (a === undefined ? undefined : a / b);

function training(name: ShapeName, runs: number): TrainResult {
  const kept = ours<TrainResult>('train', name, 1, 'kept', runs);
  note(`trainShare${name}`, kept.share);
  note(`trainTokensPerCpuSecond${name}`, kept.tokens / kept.cpu);
  note(`peakGB${name}`, kept.peakBytes / 1e9);
  note(`memoryEstimateError${name}`, kept.estimatedBytes / kept.peakBytes - 1);
  return kept;
}

/** Two threads, and recomputed activations, beside what one thread took with kept ones; and the peer. */
function trainingMore(name: ShapeName, runs: number): void {
  const kept = training(name, runs);
  note(`trainShareRecomputed${name}`, ours<TrainResult>('train', name, 1, 'recomputed', runs).share);
  note(`scaling2Cores${name}`, kept.wall / ours<TrainResult>('train', name, 2, 'kept', runs).wall);
  const { rows, length } = rowsOf[name];
  const ratio = over(peer<Spent>('train', name, 1, rows, length, runs)?.cpu, kept.cpu);
  note(`trainVsTorch${name}`, ratio);
  // What the ratio would be if all useful work ran at the rate of ONNX Runtime's own matrix products.
  note(`trainVsTorchLimit${name}`, over(ratio, kept.share));
}

function decoding(name: ShapeName, batch: number): void {
  const found = ours<DecodeResult>('decode', name, 1, batch);
  note(`decodeTokensPerCpuSecond${name}Batch${batch}`, found.decode);
  const other = peer<DecodeResult>('decode', name, 1, batch);
  note(`decode${name}Batch${batch}`, other && found.decode / other.decode);
}

function stepping(name: ShapeName): void {
  const found = ours<StepResult>('step', name, 1);
  note(`tokensAsTrees${name}`, found.treeTokens);
  note(`tokensAsRows${name}`, found.rowTokens);
  note('sharedTokenRatio', found.rowTokens / found.treeTokens);
  note(`stepCpuSeconds${name}`, found.step.cpu);
  note(`updateRowsVsTrees${name}`, found.rows.cpu / found.trees.cpu);
  const other = peer<{ step: Spent }>('step', name, 1, prompts[name]);
  note(`stepVsTorch${name}`, over(other?.step.cpu, found.step.cpu));
}

training('sample', 6);
const logging = ours<LoggingResult>('logging', 'sample');
note('loggingShare', logging.share);
note('stepCpuSecondsOfSample', logging.cpuSecondsPerStep);
note('loggingShare4M', ours<LoggingResult>('logging', '4M').share);
trainingMore('4M', 6);
stepping('4M');
if (!flag('quick')) {
  trainingMore('135M', 1);
  stepping('135M');
  for (const batch of [8, 32]) decoding('135M', batch);
}
if (flag('large')) training('05B', 1);
const scalings = Object.keys(results).filter(key => key.startsWith('scaling2Cores'));
note('scaling2Cores', Math.min(...scalings.map(key => Number(results[key]))));
const errors = Object.keys(results).filter(key => key.startsWith('memoryEstimateError'));
note('memoryEstimateError', Math.max(...errors.map(key => Math.abs(Number(results[key])))));
console.log(JSON.stringify(results));
