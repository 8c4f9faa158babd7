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

/**
 * Every training name once, and the words around names from demonstrations about two nameless cities. So no name, however
 * often a country is mentioned, becomes a piece of its own: a held-out name is spelled with pieces that training has used.
 */
function* tokenizerTexts({ training }: World): Generator<string> {
  const names = [...training.cities, ...training.countries].map(({ name }) => name);
  const facts = training.countries.flatMap(({ capital, currency, continent }) => [
    capital,
    currency,
    continent,
  ]);
  for (const name of new Set([...names, ...facts])) yield ` ${name}`;
  const country = { code: 'C', name: 'C', continent: '', capital: 'A', currency: 'D' };
  const cities = [123, 456].map((population, i) => ({ name: 'AB'[i]!, country, population }));
  const nameless: Places = { cities, countries: [country] };
  const results = documents({ cities: new Map(cities.map(city => [city.name, city])), countries: [country] });
  const tools = {
    search: () =>
      results
        .map(({ contents }, i) => `Page ${i + 1}: ${contents.slice(contents.indexOf('\n') + 1)}`)
        .join('\n'),
    capitals: ['A', 'B'],
    currencies: ['D', 'E'],
  };
  const stream = draws('tokenizer');
  for (let n = 0; n < TOKENIZER_DEMONSTRATIONS; n++) {
    const question = ask(stream, { cities: new Map(cities.map(city => [city.name, city])) }, nameless);
    yield ` ${question.text}`;
    for (const piece of demonstrate(stream, tools, question, 0.5).pieces) yield piece.text;
  }
}
