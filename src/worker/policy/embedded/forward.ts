/** Runs the decoding graphs over slots: fills caches, draws tokens. Knows nothing of requests, stops or what is cached. */
import { firstGraph, lastGraph, layerNames, middleGraph } from './decodeGraph.ts';
import { compile, float32, int32, type Program, type Tensor } from './sessions.ts';
import {
  EMBEDDING,
  FINAL_NORM,
  HEAD,
  layerTensorName,
  layerTensors,
  modelTensors,
  type ModelShape,
} from '../../../core/modelShape.ts';
import { Slots } from './slots.ts';

/** Tokens of `slots` neighbouring slots, `tokens` each; a slot may have fewer, and the rest of its row is padding. */
export interface Chunk {
  firstSlot: number;
  slots: number;
  tokens: number;
  /** [slot] number of real tokens, and the position of the first. */
  counts: readonly number[];
  starts: readonly number[];
  /** Token t of slot s, real ones only. */
  idAt(slot: number, token: number): number;
}

/** [row] how a slot's next token is drawn. */
export interface Draw {
  temperature: number;
  /** In [0, 1). */
  uniform: number;
  isGreedy: boolean;
}

/** [row] what was drawn; `top` holds the topK largest log-probabilities. */
export interface Drawn {
  token: number;
  logProb: number;
  entropy: number;
  top?: Float32Array;
}

export interface Forward {
  slots: Slots;
  /**
   * Fewest slots of a chunk. A single slot with a single key-value head would be one matrix for all tokens, which ONNX
   * Runtime multiplies with all of them at once and rounds otherwise.
   */
  fewestSlots: number;
  /** Most rows of a chunk, padding included; see steadyLimits. */
  mostRows: number;
  /** Computes keys and values of the chunk's tokens into its slots. */
  fill(chunk: Chunk): Promise<void>;
  /** Like fill for one token per slot, and draws the next token of each. */
  draw(chunk: Chunk, draws: readonly Draw[], topK: number): Promise<Drawn[]>;
  release(): Promise<void>;
}

/** More rows at a time hardly raise the speed of drawing and cost memory. */
export const MOST_SLOTS = 64;

type Feeds = Record<string, Tensor>;
/** Far enough below 1 that its product with any total is smaller than the total, in float32 too. */
const LARGEST_UNIFORM = 1 - 2 ** -23;
/** exp of it is exactly 0. */
const HIDDEN = -1e9;

/** `tokens` is the longest path. The weights are read at every run, so updates in place are seen at once. */
export async function openForward(
  shape: ModelShape,
  weights: ReadonlyMap<string, Float32Array>,
  options: { threads: number; tokens: number },
): Promise<Forward> {
  const { threads, rows } = steadyLimits(shape, options.threads);
  const compiling = { threads };
  const first = await compile(firstGraph(shape), compiling);
  const middle = shape.layers > 1 ? await compile(middleGraph(shape), compiling) : undefined;
  const lasts = new Map<number, Program>();
  const slots = new Slots(shape);
  const feeds = weightFeeds(shape, weights);
  const angles = rotaryAngles(shape, options.tokens);

  const layersBeforeLast = async (chunk: Chunk): Promise<{ state: Feeds; shared: Feeds; rotary: Feeds }> => {
    const { ids, shared, rotary } = inputsOf(chunk, { shape, capacity: slots.tokens, angles });
    let state = await first.run({ ...feeds.first, ids, ...rotary });
    writeRows(slots, chunk, 0, state);
    for (let layer = 0; layer < shape.layers - 1; layer++) {
      const inputs = {
        ...feeds.layers[layer],
        ...shared,
        ...rotary,
        ...cached(slots, chunk, layer),
        ...carried(state),
      };
      state = await middle!.run(inputs);
      writeRows(slots, chunk, layer + 1, state);
    }
    return { state, shared, rotary };
  };
  const last = async (topK: number): Promise<Program> => {
    const known = lasts.get(topK) ?? (await compile(lastGraph(shape, topK), compiling));
    lasts.set(topK, known);
    return known;
  };
  return {
    slots,
    fewestSlots: shape.keyValueHeads === 1 ? 2 : 1,
    mostRows: rows,
    fill: async chunk => void (await layersBeforeLast(chunk)),
    async draw(chunk, draws, topK) {
      const program = await last(Math.min(topK, shape.vocabulary));
      const { state, shared } = await layersBeforeLast(chunk);
      const inputs = {
        ...feeds.last,
        ...shared,
        ...cached(slots, chunk, shape.layers - 1),
        ...carried(state),
        ...drawInputs(draws, chunk.slots),
      };
      return drawnOf(await program.run(inputs), chunk.counts);
    },
    async release() {
      for (const program of [first, middle, ...lasts.values()]) await program?.release();
    },
  };
}

const MOST_ROWS = 512;
/** ONNX Runtime's own constants: inner dimensions are summed in blocks of at least so many, and a product gets a thread per so much work. */
const BLOCK = 128;
const WORK_PER_THREAD = 64 * 1024;

/**
 * ONNX Runtime cuts a product of [rows, inner] and [inner, width] along its longer side, and the block that inner sums
 * run in depends on the cut: rows would round differently in large and small batches. So we take only as many threads as
 * two rows get too, and fewer rows than any such width; products of one block are safe anyway.
 */
export function steadyLimits(shape: ModelShape, threads: number): { threads: number; rows: number } {
  const weights = [...Object.values(layerTensors(shape)), [shape.vocabulary, shape.hidden]];
  const long = weights.filter(dims => dims.length === 2 && dims[1]! > BLOCK) as [number, number][];
  const narrowest = Math.min(...long.map(([width]) => width));
  const steady = Math.min(
    threads,
    ...long.map(([width, inner]) => Math.floor((2 * width * inner) / WORK_PER_THREAD) + 1),
  );
  const isSteady = steady > 1 && narrowest > MOST_SLOTS;
  return isSteady
    ? { threads: steady, rows: Math.min(MOST_ROWS, narrowest - 1) }
    : { threads: 1, rows: MOST_ROWS };
}

/** The hidden state and the queries, from one graph's outputs to the next one's inputs. */
const carried = (state: Feeds): Feeds => ({ hidden: state['hiddenOut']!, query: state['queryOut']! });

const cached = (slots: Slots, chunk: Chunk, layer: number): Feeds =>
  slots.feeds(layer, chunk.firstSlot, chunk.slots);

function weightFeeds(
  shape: ModelShape,
  weights: ReadonlyMap<string, Float32Array>,
): { first: Feeds; layers: Feeds[]; last: Feeds } {
  const model = modelTensors(shape);
  const whole = (name: string): Feeds => ({ [name]: float32(weights.get(name)!, model.get(name)) });
  const dims = layerTensors(shape);
  const part = (layer: number, names: readonly string[]): Feeds =>
    Object.fromEntries(
      names.map(name => [name, float32(weights.get(layerTensorName(layer, name))!, dims[name])]),
    );
  const { projection, output } = layerNames(shape);
  return {
    first: { ...whole(EMBEDDING), ...part(0, projection) },
    layers: Array.from({ length: shape.layers - 1 }, (_, l) => ({
      ...part(l, output),
      ...part(l + 1, projection),
    })),
    last: {
      ...part(shape.layers - 1, output),
      ...whole(FINAL_NORM),
      ...whole(shape.tiedHead ? EMBEDDING : HEAD),
    },
  };
}

/** [position][headDim / 2] cosines and sines of position · θ^(−2i / headDim). */
function rotaryAngles(
  { headDim, ropeTheta }: ModelShape,
  tokens: number,
): { cos: Float32Array; sin: Float32Array } {
  const half = headDim / 2;
  const angle = (n: number): number => Math.floor(n / half) * ropeTheta ** (-(n % half) / half);
  return {
    cos: Float32Array.from({ length: tokens * half }, (_, n) => Math.cos(angle(n))),
    sin: Float32Array.from({ length: tokens * half }, (_, n) => Math.sin(angle(n))),
  };
}

interface Setting {
  shape: ModelShape;
  capacity: number;
  angles: { cos: Float32Array; sin: Float32Array };
}

/** Padding tokens are token 0 at position 0 and see only themselves, so that they cost nothing but time. */
function inputsOf(
  chunk: Chunk,
  { shape, capacity, angles }: Setting,
): { ids: Tensor; shared: Feeds; rotary: Feeds } {
  const { slots, tokens } = chunk;
  const [rows, half] = [slots * tokens, shape.headDim / 2];
  const ids = new Int32Array(rows);
  const [cos, sin] = [new Float32Array(rows * half), new Float32Array(rows * half)];
  const mask = new Float32Array(rows * capacity).fill(HIDDEN);
  for (let row = 0; row < rows; row++) {
    const [slot, token] = [Math.floor(row / tokens), row % tokens];
    const isReal = token < (chunk.counts[slot] ?? 0);
    const position = isReal ? chunk.starts[slot]! + token : 0;
    if (isReal) ids[row] = chunk.idAt(slot, token);
    cos.set(angles.cos.subarray(position * half, (position + 1) * half), row * half);
    sin.set(angles.sin.subarray(position * half, (position + 1) * half), row * half);
    mask.fill(0, row * capacity, row * capacity + position + 1);
  }
  const { heads, keyValueHeads: kv, headDim } = shape;
  const grid: Tensor = {
    type: 'int64',
    dims: [6],
    data: BigInt64Array.from([slots, tokens, kv, heads / kv, 1, headDim], BigInt),
  };
  return {
    ids: int32(ids),
    shared: { grid, mask: float32(mask, [slots, tokens, 1, 1, 1, capacity]) },
    rotary: { cos: float32(cos, [1, rows, half]), sin: float32(sin, [1, rows, half]) },
  };
}

function writeRows(slots: Slots, chunk: Chunk, layer: number, state: Feeds): void {
  const rows = {
    keys: state['keyOut']!.data as Float32Array,
    values: state['valueOut']!.data as Float32Array,
  };
  chunk.counts.forEach((count, i) => {
    for (let token = 0; token < count; token++) {
      slots.write(
        layer,
        { slot: chunk.firstSlot + i, position: chunk.starts[i]! + token },
        rows,
        i * chunk.tokens + token,
      );
    }
  });
}

function drawInputs(draws: readonly Draw[], rows: number): Feeds {
  const column = (value: (draw: Draw) => number): Tensor =>
    float32(
      Float32Array.from({ length: rows }, (_, i) => (draws[i] ? value(draws[i]) : 1)),
      [rows, 1],
    );
  return {
    temperature: column(draw => (draw.isGreedy ? 1 : draw.temperature)),
    uniform: column(draw => Math.min(draw.uniform, LARGEST_UNIFORM)),
    isGreedy: column(draw => Number(draw.isGreedy)),
  };
}

/** Takes the logarithm of the partition function in double precision; see lastGraph. */
function drawnOf(outputs: Feeds, counts: readonly number[]): Drawn[] {
  const numbers = (name: string): Float32Array => outputs[name]!.data as Float32Array;
  const tokens = outputs['token']!.data as BigInt64Array;
  const [scores, partitions, weighted, top] = [
    numbers('score'),
    numbers('partition'),
    numbers('weighted'),
    outputs['top'],
  ];
  return counts.map((_, row) => {
    const logPartition = Math.log(partitions[row]!);
    const k = top?.dims[1] ?? 0;
    return {
      token: Number(tokens[row]!),
      logProb: scores[row]! - logPartition,
      entropy: logPartition - weighted[row]! / partitions[row]!,
      ...(top && {
        top: (top.data as Float32Array).slice(row * k, (row + 1) * k).map(score => score - logPartition),
      }),
    };
  });
}
