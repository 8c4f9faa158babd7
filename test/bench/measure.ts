/**
 * Takes one measurement in a process of its own and prints it as JSON: `train SHAPE THREADS kept|recomputed RUNS`,
 * `decode SHAPE THREADS ROWS`, `step SHAPE THREADS` or `logging sample|4M`.
 */
import { measureDecoding } from './decode.ts';
import { measureLogging } from './logging.ts';
import { shapes, type ShapeName } from './models.ts';
import { measureStep } from './step.ts';
import { measureTraining } from './train.ts';

const [what, name, threadCount, ...rest] = process.argv.slice(2);
if (!name || !(name in shapes)) throw new Error(`There is no shape ${name}.`);
const shape = name as ShapeName;
const threads = Number(threadCount);
const measures: Record<string, () => Promise<unknown>> = {
  train: () => measureTraining(shape, { threads, isKept: rest[0] === 'kept', runs: Number(rest[1]) }),
  decode: () => measureDecoding(shape, { threads, rows: Number(rest[0]) }),
  step: () => measureStep(shape, threads),
  logging: () => measureLogging(shape === 'sample' ? 'sample' : '4M'),
};
const measure = measures[what ?? ''];
if (!measure) throw new Error(`There is no measurement ${what}.`);
console.log(JSON.stringify(await measure()));
