/** Runs the decoding graphs over slots: fills caches, draws tokens. Knows nothing of requests, stops or what is cached. */
import {
  firstGraph,
  LANES,
  LARGEST_UNIFORM,
  lastGraph,
  layerNames,
  middleGraph,
  type DrawKind,
} from './decodeGraph.ts';
import { rotaryAngles, type Angles } from './rotary.ts';
import {
  compile,
  discard,
  float32,
  int32,
  type CompileOptions,
  type Program,
  type Tensor,
} from './sessions.ts';
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

/** [row] what was drawn; `top` holds the topK largest log-probabilities, and `topIds` their tokens. */
export interface Drawn {
  token: number;
  logProb: number;
  entropy: number;
  top?: Float32Array;
  topIds?: Int32Array;
}

export interface Forward {
  slots: Slots;
  /**
   * Fewest slots of a chunk. A single slot with a single key-value head would be one matrix for all tokens, which ONNX
   * Runtime multiplies with all of them at once and rounds otherwise.
   */
  fewestSlots: number;
  /** Computes keys and values of the chunk's tokens into its slots. */
  fill(chunk: Chunk): Promise<void>;
  /** Like fill for one token per slot, and draws the next token of each. */
  draw(chunk: Chunk, draws: readonly Draw[], topK: number): Promise<Drawn[]>;
  release(): Promise<void>;
}

/** More rows at a time hardly raise the speed of drawing and cost memory. */
export const MOST_SLOTS = 64;
/** Most rows of a chunk, padding included. */
export const MOST_ROWS = 512;

type Feeds = Record<string, Tensor>;
/** exp of it is exactly 0. */
const HIDDEN = -1e9;

/** `tokens` is the longest path. The weights are read at every run, so updates in place are seen at once. */
export async function openForward(
  shape: ModelShape,
  weights: ReadonlyMap<string, Float32Array>,
  { tokens, ...compiling }: CompileOptions & { tokens: number },
): Promise<Forward> {
  const first = await compile(firstGraph(shape), compiling);
  const middle = shape.layers > 1 ? await compile(middleGraph(shape), compiling) : undefined;
  const lasts = new Map<string, Program>();
  const slots = new Slots(shape);
  const feeds = weightFeeds(shape, weights);
  const angles = rotaryAngles(shape, tokens);

  const layersBeforeLast = async (chunk: Chunk): Promise<{ state: Feeds; shared: Feeds }> => {
    const { ids, shared, rotary } = inputsOf(chunk, { shape, capacity: slots.tokens, angles });
    let state = await first.run({ ...feeds.first, ids, ...rotary, lanes: shared['lanes']! });
    writeRows(slots, chunk, 0, state);
    for (let layer = 0; layer < shape.layers - 1; layer++) {
      const before = state;
      state = await middle!.run({
        ...feeds.layers[layer],
        ...shared,
        ...rotary,
        ...cached(slots, chunk, layer),
        ...carried(before, chunk),
      });
      discardAll(before);
      writeRows(slots, chunk, layer + 1, state);
    }
    return { state, shared };
  };
  const last = async (kind: DrawKind): Promise<Program> => {
    const key = JSON.stringify(kind);
    const known = lasts.get(key) ?? (await compile(lastGraph(shape, kind), compiling));
    lasts.set(key, known);
    return known;
  };
  return {
    slots,
    fewestSlots: shape.keyValueHeads === 1 ? 2 : 1,
    fill: async chunk => discardAll((await layersBeforeLast(chunk)).state),
    async draw(chunk, draws, topK) {
      const hasGreedy = draws.some(({ isGreedy }) => isGreedy);
      const program = await last({ topK: Math.min(topK, shape.vocabulary), hasGreedy });
      const { state, shared } = await layersBeforeLast(chunk);
      const inputs = {
        ...feeds.last,
        ...shared,
        ...cached(slots, chunk, shape.layers - 1),
        ...carried(state, chunk),
        ...drawInputs(draws, lanesOf(chunk.slots), hasGreedy),
      };
      const outputs = await program.run(inputs);
      const drawn = drawnOf(outputs, chunk.counts);
      [state, outputs].forEach(discardAll);
      return drawn;
    },
    async release() {
      for (const program of [first, middle, ...lasts.values()]) await program?.release();
    },
  };
}

/** A graph's outputs once they have been read: without, the collector runs for them every few tokens. */
const discardAll = (outputs: Feeds): void => Object.values(outputs).forEach(discard);

/** The hidden state and the real rows' queries, from one graph's outputs to the next one's inputs. */
function carried(state: Feeds, { slots, tokens }: Chunk): Feeds {
  const { data, dims } = state['queryOut']!;
  const [rows, width] = [slots * tokens, dims[1]!];
  const query = float32((data as Float32Array).subarray(0, rows * width), [rows, width]);
  return { hidden: state['hiddenOut']!, query };
}

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

interface Setting {
  shape: ModelShape;
  capacity: number;
  angles: Angles;
}

/** Groups of rows that are multiplied together, and rows per group, which also hold what pads. */
function lanesOf(rows: number): { groups: number; lanes: number } {
  if (rows <= LANES) return { groups: 1, lanes: Math.max(2, rows) };
  return { groups: Math.ceil(rows / LANES), lanes: LANES };
}

/** Padding tokens are token 0 at position 0 and see only themselves, so that they cost nothing but time. */
function inputsOf(
  chunk: Chunk,
  { shape, capacity, angles }: Setting,
): { ids: Tensor; shared: Feeds; rotary: Feeds } {
  const { slots, tokens } = chunk;
  const [rows, half] = [slots * tokens, shape.headDim / 2];
  const { groups, lanes } = lanesOf(rows);
  const padded = groups * lanes;
  const ids = new Int32Array(padded);
  const [cos, sin] = [new Float32Array(padded * half), new Float32Array(padded * half)];
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
  return {
    ids: int32(ids),
    shared: {
      grid: int64([slots, tokens, kv, heads / kv, 1, headDim]),
      padding: int64([0, 0, padded - rows, 0]),
      lanes: int64([groups, lanes, -1]),
      mask: float32(mask, [slots, tokens, 1, 1, 1, capacity]),
    },
    rotary: { cos: float32(cos, [1, padded, half]), sin: float32(sin, [1, padded, half]) },
  };
}

const int64 = (numbers: readonly number[]): Tensor => ({
  type: 'int64',
  dims: [numbers.length],
  data: BigInt64Array.from(numbers, BigInt),
});

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

function drawInputs(
  draws: readonly Draw[],
  { groups, lanes }: { groups: number; lanes: number },
  hasGreedy: boolean,
): Feeds {
  const rows = groups * lanes;
  const column = (value: (draw: Draw) => number): Tensor =>
    float32(
      Float32Array.from({ length: rows }, (_, i) => value(draws[i] ?? PADDING)),
      [rows, 1],
    );
  return {
    temperature: column(draw => (draw.isGreedy ? 1 : draw.temperature)),
    uniform: column(draw => Math.min(draw.uniform, LARGEST_UNIFORM)),
    ...(hasGreedy && { isGreedy: column(draw => Number(draw.isGreedy)) }),
  };
}

const PADDING: Draw = { temperature: 1, uniform: 0, isGreedy: false };

/** Takes the logarithm of the partition function in double precision; see lastGraph. */
function drawnOf(outputs: Feeds, counts: readonly number[]): Drawn[] {
  const numbers = (name: string): Float32Array => outputs[name]!.data as Float32Array;
  const tokens = outputs['token']!.data as BigInt64Array;
  const [scores, partitions, weighted, top, topIds] = [
    numbers('score'),
    numbers('partition'),
    numbers('weighted'),
    outputs['top'],
    outputs['topIds'],
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
        topIds: Int32Array.from((topIds!.data as BigInt64Array).subarray(row * k, (row + 1) * k), Number),
      }),
    };
  });
}
