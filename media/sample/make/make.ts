/**
 * Makes everything of the sample that is not trained: corpus, tasks, tokenizer and configuration of the policy. The same
 * files come out every time. Knows nothing of training.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { streamKey } from '../../../src/core/random.ts';
import { demonstrate } from './demonstrations.ts';
import { draws } from './draws.ts';
import { writeConfig } from './init.ts';
import { ask, type Question } from './questions.ts';
import { writeTasks } from './tasks.ts';
import { writeTokenizer } from './tokenizer.ts';
import { demonstrationWorld } from './tools.ts';
import { documents, makeWorld, type Places, type World } from './world.ts';

const SAMPLE = join(import.meta.dirname, '..');
const TRAINING_TASKS = 3000;
const HELD_OUT_TASKS = 300;
const TOKENIZER_DEMONSTRATIONS = 3000;

const world = makeWorld();
const corpus = join(SAMPLE, 'corpus.jsonl');
await writeFile(
  corpus,
  documents(world)
    .map(document => JSON.stringify(document) + '\n')
    .join(''),
);

await mkdir(join(SAMPLE, 'tasks'), { recursive: true });
const training = distinct(world, world.training, 'train', TRAINING_TASKS);
const heldOut = distinct(world, world.heldOut, 'held-out', HELD_OUT_TASKS);
await writeTasks(training, 'train', join(SAMPLE, 'tasks', 'train.parquet'));
await writeTasks(heldOut, 'test', join(SAMPLE, 'tasks', 'held-out.parquet'));

const policy = join(SAMPLE, 'policy');
await mkdir(policy, { recursive: true });
await writeTokenizer(tokenizerTexts(world), policy);
await writeConfig(policy);
const places = ({ cities, countries }: Places): string =>
  `${cities.length} cities and ${countries.length} countries`;
console.log(
  `${world.cities.size + world.countries.length} documents; training: ${training.length} tasks about`,
  `${places(world.training)}; held out: ${heldOut.length} tasks about ${places(world.heldOut)}.`,
);

function distinct(world: World, places: Places, name: string, count: number): Question[] {
  const stream = draws(streamKey('tasks', name));
  const questions = new Map<string, Question>();
  while (questions.size < count) {
    const question = ask(stream, world, places);
    questions.set(question.text, question);
  }
  return [...questions.values()];
}

/** All documents, so that every name counts once, and demonstrations for the words around them. */
function* tokenizerTexts(world: World): Generator<string> {
  for (const { contents } of documents(world)) yield ' ' + contents.slice(contents.indexOf('\n') + 1);
  const tools = demonstrationWorld(world, corpus);
  const stream = draws('tokenizer');
  for (let n = 0; n < TOKENIZER_DEMONSTRATIONS; n++) {
    const question = ask(stream, world, world.training);
    yield ' ' + question.text;
    for (const piece of demonstrate(stream, tools, question, 0.5).pieces) yield piece.text;
  }
}
