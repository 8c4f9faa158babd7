/**
 * Program of the child process that holds a module of the user's own: reads one JSON object per line, hands it to the
 * module's default export and writes what that returns. Knows nothing of rewards or tools.
 */
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
  write(`${JSON.stringify({ ...(await outcomeOf(answering, input)), id })}\n`);
}

async function outcomeOf(answering: Answering, input: object): Promise<object> {
  try {
    const output = await answering(input);
    return typeof output === 'object' && output !== null ? output : { error: 'It returned no object.' };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => process.stderr.write(`${String(error)}\n`, () => process.exit(70)),
);
