/**
 * Program of the child process that holds a module of the user's own: reads one JSON object per line, hands it to the
 * module's default export and writes what that returns. Knows nothing of rewards or tools.
 */
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const write = process.stdout.write.bind(process.stdout);

type Answering = (input: object) => unknown;

async function main(): Promise<void> {
  // What the module prints must not be taken for answers.
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const answering = await load(process.argv[2] ?? '');
  for await (const line of createInterface({ input: process.stdin })) void answer(answering, line);
}

async function load(path: string): Promise<Answering> {
  const module = (await import(pathToFileURL(path).href)) as { default?: unknown };
  if (typeof module.default !== 'function')
    throw new Error('The module has no default export that is a function.');
  return module.default as Answering;
}

async function answer(answering: Answering, line: string): Promise<void> {
  const { id, ...input } = JSON.parse(line) as { id: number };
  write(`${await outcomeOf(answering, input, id)}\n`);
}

/** The answer's line; what JSON cannot write is an error of the module like any other. */
async function outcomeOf(answering: Answering, input: object, id: number): Promise<string> {
  try {
    const output = await answering(input);
    const isObject = typeof output === 'object' && output !== null;
    return JSON.stringify({ ...(isObject ? output : { error: 'It returned no object.' }), id });
  } catch (error) {
    return JSON.stringify({ error: sentenceOf(error), id });
  }
}

/** What the module threw, and where in it; without the calls around it, which are none of its. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const name = basename(process.argv[2] ?? '');
  const frame = error.stack?.split('\n').find(line => /^\s+at /.test(line) && line.includes(`${name}:`));
  const place = frame?.slice(frame.lastIndexOf(`${name}:`)).replace(/\)?$/, '');
  return `${error.name}: ${error.message}${place === undefined ? '' : ` (${place})`}`;
}

main().then(
  () => process.exit(0),
  (error: unknown) => process.stderr.write(`${String(error)}\n`, () => process.exit(70)),
);
