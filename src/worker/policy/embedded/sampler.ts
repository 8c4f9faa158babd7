/**
 * Continues paths: what is pending is batched, joins the running batch between two tokens and leaves it when it ends.
 * Knows which stretches are cached and when a continuation stops, nothing of graphs, training or processes.
 */
import { setImmediate } from 'node:timers/promises';
import type { Pieces } from '../../../core/pieces.ts';
import { uniform } from '../../../core/random.ts';
import { FailureError } from '../../../core/types.ts';
import type { Sample, SampleRequest } from '../policy.ts';
import { StretchCache } from './cache.ts';
import { MOST_ROWS, MOST_SLOTS, openForward, type Chunk, type Drawn } from './forward.ts';
import type { ModelShape } from '../../../core/modelShape.ts';
import { capacityFor } from './slots.ts';
import { watchStops, type StopWatch } from './stops.ts';

export interface SamplerOptions {
  shape: ModelShape;
  /** By Hugging Face names; read at every run, so that updates in place are seen. `forget('')` must follow them. */
  weights: ReadonlyMap<string, Float32Array>;
  threads: number;
  maxPathTokens: number;
  pieces: Pieces;
  stops: readonly string[];
  endIds: readonly number[];
  /** Most memory that cached stretches may take, and again that running paths may take. */
  cacheBytes: number;
  /** Ends what is being drawn, between two tokens. */
  ending?: AbortSignal | undefined;
}

export interface Sampler {
  sample(request: SampleRequest): Promise<Sample>;
  forget(keyPrefix: string): void;
  close(): Promise<void>;
}

/** A continuation that is waiting or running. */
interface Row {
  request: SampleRequest;
  /** Tokens of the path. */
  prompt: Int32Array;
  /** Leading tokens, prompt and drawn ones, whose keys and values are in the slot. */
  filled: number;
  drawn: number[];
  logProbs: number[];
  entropies: number[];
  top: Float32Array[];
  /** [token][k], where asked for. */
  alternatives: { ids: number[]; logProbs: number[] };
  watch: StopWatch;
  hasFailed: boolean;
  resolve(sample: Sample): void;
  reject(error: Error): void;
}

interface State extends SamplerOptions {
  forward: Awaited<ReturnType<typeof openForward>>;
  cache: StretchCache;
  readonly pending: Row[];
  /** [slot] */
  readonly running: Row[];
}

export async function openSampler(options: SamplerOptions): Promise<Sampler> {
  const { shape, weights, threads, maxPathTokens: tokens, ending } = options;
  const forward = await openForward(shape, weights, { threads, tokens, ending });
  const state: State = {
    ...options,
    forward,
    cache: new StretchCache(options.cacheBytes),
    pending: [],
    running: [],
  };
  let isRunning = false;
  const run = async (): Promise<void> => {
    isRunning = true;
    try {
      // What is asked in the same turn of the event loop starts together.
      await setImmediate();
      while (state.pending.length + state.running.length > 0) {
        await admit(state);
        await drawOnce(state);
      }
    } catch (error) {
      const rows = [...state.running.splice(0), ...state.pending.splice(0)];
      for (const row of rows) row.reject(error instanceof Error ? error : new Error(String(error)));
    } finally {
      isRunning = false;
    }
  };
  return {
    sample: request =>
      new Promise((resolve, reject) => {
        const prompt = checkedPrompt(request, state);
        if (request.maxTokens === 0)
          return resolve(sampleOf({ ...newRow(state, request, prompt), resolve, reject }, 'length'));
        state.pending.push({ ...newRow(state, request, prompt), resolve, reject });
        if (!isRunning) void run();
      }),
    forget(prefix) {
      state.cache.forget(prefix);
      // Not even a masked leftover of diverged weights may stay: 0 · NaN is NaN.
      if (prefix === '' && state.running.length === 0) forward.slots.clear();
    },
    close: () => forward.release(),
  };
}

function checkedPrompt(
  { path, maxTokens, temperature }: SampleRequest,
  { maxPathTokens, shape }: State,
): Int32Array {
  const refuse = (message: string): never => {
    throw new FailureError({ where: 'policy', message });
  };
  const length = path.reduce((sum, { ids }) => sum + ids.length, 0);
  if (length === 0) refuse('There is nothing to continue: the path has no tokens.');
  if (length + maxTokens > maxPathTokens)
    refuse(
      `A path of ${length} tokens cannot grow by ${maxTokens}: the policy was opened for paths of at most ${maxPathTokens}.`,
    );
  if (!(temperature >= 0 && Number.isFinite(temperature)))
    refuse(`The temperature must be 0 or more, but is ${temperature}.`);
  const prompt = new Int32Array(length);
  let at = 0;
  for (const { ids } of path) {
    prompt.set(ids, at);
    at += ids.length;
  }
  const stray = prompt.find(id => id < 0 || id >= shape.vocabulary);
  if (stray !== undefined)
    refuse(`Token id ${stray} is not below the model's vocabulary size ${shape.vocabulary}.`);
  return prompt;
}

function newRow(state: State, request: SampleRequest, prompt: Int32Array): Omit<Row, 'resolve' | 'reject'> {
  const before = prompt.subarray(Math.max(0, prompt.length - request.streamOffset));
  const watch = watchStops(state.pieces, state.stops, before);
  return {
    request,
    prompt,
    filled: 0,
    drawn: [],
    logProbs: [],
    entropies: [],
    top: [],
    alternatives: { ids: [], logProbs: [] },
    watch,
    hasFailed: false,
  };
}

/**
 * Gives waiting requests slots and fills these up to the last token of the path, whose turn comes with the first draw.
 * Where several lack the same stretch, one computes it and the others wait for the next round, so that it is computed once.
 */
async function admit(state: State): Promise<void> {
  const { cache, forward, pending, running } = state;
  while (pending.length > 0) {
    const leading = new Set<string>();
    const chosen: Row[] = [];
    let longest = Math.max(0, ...running.map(finalLength));
    for (const row of pending) {
      longest = Math.max(longest, finalLength(row));
      if (running.length + chosen.length >= mostSlots(state, longest)) break;
      row.filled = Math.min(cache.covered(row.request.path), row.prompt.length - 1);
      const missing = row.filled < row.prompt.length - 1 ? keyAt(row.request, row.filled) : undefined;
      if (missing !== undefined && leading.has(missing)) continue;
      if (missing !== undefined) leading.add(missing);
      chosen.push(row);
    }
    if (chosen.length === 0) return;
    for (const row of chosen) pending.splice(pending.indexOf(row), 1);
    chosen.sort((a, b) => lacking(b) - lacking(a));
    const firstSlot = running.length;
    running.push(...chosen);
    reserve(state);
    chosen.forEach((row, i) => cache.load(row.request.path, row.filled, forward.slots, firstSlot + i));
    await prefill(state, chosen, firstSlot);
  }
}

const finalLength = ({ prompt, request }: Row): number => prompt.length + request.maxTokens;

/** Slots all have room for the longest path. */
const mostSlots = ({ cacheBytes, forward }: State, longest: number): number =>
  Math.min(
    MOST_SLOTS,
    Math.max(2, Math.floor(cacheBytes / (capacityFor(longest) * forward.slots.tokenBytes))),
  );

const lacking = (row: Row): number => row.prompt.length - 1 - row.filled;

/** Key of the stretch that the token at an index belongs to. */
function keyAt({ path }: SampleRequest, index: number): string | undefined {
  let end = 0;
  return path.find(({ ids }) => (end += ids.length) > index)?.key;
}

function reserve({ forward, running }: State): void {
  const longest = Math.max(...running.map(row => row.prompt.length + row.drawn.length));
  forward.slots.reserve(running.length + 1, longest, running.length);
}

/** The rows must be in descending order of what they lack, so that those with something left are always the first ones. */
async function prefill({ forward, cache }: State, rows: readonly Row[], firstSlot: number): Promise<void> {
  for (
    let left = rows.filter(row => lacking(row) > 0);
    left.length > 0;
    left = left.filter(row => lacking(row) > 0)
  ) {
    const [most, least] = [lacking(left[0]!), lacking(left.at(-1)!)];
    const slots = Math.max(forward.fewestSlots, left.length);
    const room = Math.max(1, Math.floor(MOST_ROWS / slots));
    const tokens = Math.min(most, room, Math.max(least, 16));
    const counts = left.map(row => Math.min(lacking(row), tokens));
    await forward.fill({
      ...{ firstSlot, slots, tokens, counts },
      starts: left.map(row => row.filled),
      idAt: (slot, token) => left[slot]!.prompt[left[slot]!.filled + token]!,
    });
    left.forEach((row, i) => (row.filled += counts[i]!));
  }
  rows.forEach((row, i) => cache.store(row.request.path, row.filled, forward.slots, firstSlot + i));
}

/** One token for every running row; rows that end with it leave. */
async function drawOnce(state: State): Promise<void> {
  const { forward, running } = state;
  if (running.length === 0) return;
  reserve(state);
  const rows = [...running];
  const chunk: Chunk = {
    ...{ firstSlot: 0, slots: Math.max(forward.fewestSlots, rows.length), tokens: 1 },
    counts: rows.map(() => 1),
    starts: rows.map(row => row.filled),
    idAt: slot => tokenAt(rows[slot]!, rows[slot]!.filled),
  };
  const draws = rows.map(({ request, drawn }) => ({
    temperature: request.temperature,
    uniform: uniform(request.stream, request.streamOffset + drawn.length),
    isGreedy: request.temperature === 0,
  }));
  const topK = Math.max(
    ...rows.map(({ request }) => Math.max(request.topLogProbs, request.alternatives ?? 0)),
  );
  const results = await forward.draw(chunk, draws, topK);
  // From the last slot on, so that the row that moves into a freed slot has had its turn.
  for (let slot = rows.length - 1; slot >= 0; slot--) {
    const row = rows[slot]!;
    row.filled++;
    if (take(state, row, results[slot]!)) leave(state, slot);
  }
}

const tokenAt = ({ prompt, drawn }: Row, position: number): number =>
  position < prompt.length ? prompt[position]! : drawn[position - prompt.length]!;

/** Keeps what was drawn; true where the row ends with it. */
function take({ endIds }: State, row: Row, { token, logProb, entropy, top, topIds }: Drawn): boolean {
  if (!Number.isFinite(logProb) || !Number.isFinite(entropy)) {
    const message = 'The policy’s probabilities are not finite: its weights have diverged.';
    row.hasFailed = true;
    row.reject(
      new FailureError({
        where: 'policy',
        message,
        fix: 'Lower the learning rate, or go on from an earlier checkpoint.',
      }),
    );
    return true;
  }
  row.drawn.push(token);
  row.logProbs.push(logProb);
  row.entropies.push(entropy);
  const { topLogProbs, alternatives = 0, maxTokens } = row.request;
  if (topLogProbs > 0 && top) row.top.push(withDrawn(top.subarray(0, topLogProbs), logProb));
  if (alternatives > 0 && top && topIds) {
    row.alternatives.ids.push(...topIds.subarray(0, alternatives));
    row.alternatives.logProbs.push(...top.subarray(0, alternatives));
  }
  if (endIds.includes(token)) row.resolve(sampleOf(row, 'end'));
  else {
    const stop = row.watch.push(token);
    if (stop !== undefined) row.resolve({ ...sampleOf(row, 'stop'), stop });
    else if (row.drawn.length < maxTokens) return false;
    else row.resolve(sampleOf(row, 'length'));
  }
  return true;
}

/** The largest log-probabilities, and the drawn token's where it is not among them. */
const withDrawn = (top: Float32Array, logProb: number): Float32Array =>
  Math.fround(logProb) >= top[top.length - 1]! ? top.slice() : Float32Array.of(...top, logProb);

function alternativesOf({
  request,
  drawn,
  alternatives: { ids, logProbs },
}: Row): Pick<Sample, 'alternatives'> {
  if (!request.alternatives) return {};
  const k = drawn.length === 0 ? 0 : ids.length / drawn.length;
  return { alternatives: { k, ids: Int32Array.from(ids), logProbs: Float32Array.from(logProbs) } };
}

const sampleOf = (row: Row, finish: Sample['finish']): Sample => ({
  ids: Int32Array.from(row.drawn),
  logProbs: Float32Array.from(row.logProbs),
  entropies: Float32Array.from(row.entropies),
  ...(row.request.topLogProbs > 0 && { topLogProbs: row.top }),
  ...alternativesOf(row),
  finish,
});

/** Caches the ended row's keys and values where they are sound, and moves the last row into its slot. */
function leave({ cache, forward, running }: State, slot: number): void {
  const row = running[slot]!;
  const { path, key } = row.request;
  if (!row.hasFailed) {
    cache.drop(key);
    cache.store([...path, { key, ids: Int32Array.from(row.drawn) }], row.filled, forward.slots, slot);
  }
  const last = running.pop()!;
  if (last === row) return;
  forward.slots.move(running.length, slot);
  running[slot] = last;
}
