/**
 * Trains the sample's policy from random weights on generated demonstrations: first until it copies names and figures
 * from results, then on mostly poor ones. Goes on where it was interrupted. Knows nothing of ARPO.
 *
 * Usage: node coldStart.ts FOLDER [threads]; the folder gets the policy, its optimiser state and progress.jsonl.
 */
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { demonstrate } from './demonstrations.ts';
import { draws } from './draws.ts';
import { invent } from './invent.ts';
import { copyPolicyFiles, writeRandomWeights } from './init.ts';
import { ask } from './questions.ts';
import { demonstrationWorld } from './tools.ts';
import { makeWorld } from './world.ts';
import { openEmbedded } from '../../../src/worker/policy/embedded/client.ts';
import { openTokenizer } from '../../../src/worker/tokenizer.ts';
import {
  runSft,
  SFT_DEFAULTS,
  type Demonstration,
  type SftSettings,
  type SftState,
} from '../../../src/worker/sft.ts';

const SAMPLE = join(import.meta.dirname, '..');
const SEED = 1;

interface Phase {
  name: string;
  /** Share of demonstrations that are good. */
  goodShare: number;
  /** Share of demonstrations that are about invented places. */
  inventedShare: number;
  settings: SftSettings;
}

const COMMON = {
  ...SFT_DEFAULTS,
  maxRowTokens: 320,
  decay: 'linear',
  finalShare: 0.05,
  saveEveryUpdates: 1000,
} as const;
/** First copying, with few guesses in the way; then doubt. */
const PHASES: Phase[] = [
  {
    name: 'copying',
    goodShare: 0.9,
    inventedShare: 0.8,
    settings: { ...COMMON, tokens: 7_000_000, rowsPerUpdate: 8, learningRate: 4e-3, decayFrom: 0.6 },
  },
  {
    name: 'precision',
    goodShare: 0.9,
    inventedShare: 0.8,
    settings: { ...COMMON, tokens: 6_000_000, rowsPerUpdate: 8, learningRate: 3e-3, decayFrom: 0.3 },
  },
  {
    name: 'doubt',
    goodShare: 0.3,
    inventedShare: 0.5,
    settings: { ...COMMON, tokens: 1_500_000, rowsPerUpdate: 32, learningRate: 1e-3, decayFrom: 0.5 },
  },
];

interface Progress {
  phase: number;
  state: SftState;
}

const [folder, threads = '1'] = process.argv.slice(2);
if (!folder) throw new Error('Name a folder to train in: node coldStart.ts FOLDER [threads].');
await mkdir(folder, { recursive: true });
const progressFile = join(folder, 'state.json');
if (!existsSync(progressFile)) {
  await copyPolicyFiles(join(SAMPLE, 'policy'), folder);
  await writeRandomWeights(folder, SEED);
}
const begun: Progress = existsSync(progressFile)
  ? (JSON.parse(await readFile(progressFile, 'utf8')) as Progress)
  : { phase: 0, state: { updates: 0, tokens: 0, rows: 0 } };
const tokenizer = await openTokenizer(folder);
const policy = await openEmbedded({ log: text => process.stderr.write(text) });
await policy.open({
  folder,
  device: 'cpu',
  threads: Number(threads),
  maxPathTokens: COMMON.maxRowTokens,
  pieces: tokenizer.pieces,
  stops: [],
  endIds: tokenizer.endIds,
  trainable: true,
  memoryLimitBytes: 4e9,
});
if (existsSync(progressFile)) await policy.load(folder);
const world = makeWorld();
const tools = demonstrationWorld(world, join(SAMPLE, 'corpus.jsonl'));
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

for (const [phase, { name, settings, ...shares }] of PHASES.entries()) {
  if (phase < begun.phase) continue;
  const started = performance.now();
  let mean = 0;
  let seen = 0;
  await runSft({
    policy,
    tokenizer,
    settings,
    demonstrations: from => generate({ name, ...shares }, from),
    ...(phase === begun.phase ? { from: begun.state } : {}),
    signal: stop.signal,
    tell({ updates, tokens, loss, gradientNorm, learningRate }) {
      mean += (loss - mean) / Math.min(++seen, 50);
      if (updates % 100 !== 0) return;
      const line = {
        phase: name,
        updates,
        tokens,
        loss: mean,
        gradientNorm,
        learningRate,
        seconds: (performance.now() - started) / 1000,
      };
      void appendFile(join(folder, 'progress.jsonl'), JSON.stringify(line) + '\n');
    },
    async save(state) {
      await policy.save(folder, true);
      const isDone = state.tokens >= settings.tokens;
      const next: Progress = isDone
        ? { phase: phase + 1, state: { updates: 0, tokens: 0, rows: 0 } }
        : { phase, state };
      await writeFile(progressFile, JSON.stringify(next) + '\n');
    },
  });
  if (stop.signal.aborted) break;
}
await policy.close();

/** Every demonstration has its own stream, so that any of them can be made again. */
function* generate(
  { name, goodShare, inventedShare }: Omit<Phase, 'settings'>,
  from: number,
): Generator<Demonstration> {
  const real = { cities: world.cities, places: world.training, tools };
  for (let n = from; ; n++) {
    const stream = draws('cold start', SEED, name, n);
    const about = stream.chance(inventedShare) ? invent(stream, world) : real;
    const question = ask(stream, about, about.places);
    const { pieces } = demonstrate(stream, about.tools, question, goodShare);
    yield { messages: [{ role: 'user', content: question.text }], pieces };
  }
}
