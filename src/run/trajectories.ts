/**
 * A step's trajectories as one parquet file, a row each, for pandas, DuckDB and others. An export: trees.jsonl is the truth. Knows
 * nothing of how trajectories came about.
 */
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import parquet, { type Column } from 'parquetjs-lite';
import { alternativeStarts } from '../core/alternatives.ts';
import { isTrained, pathsThrough, responseText, segmentsOf, type Grown } from '../core/tree.ts';
import type { Decision, Path, Tree } from '../core/types.ts';
import { makeFolder, writeAtomically } from './disk.ts';
import { checkpointName, FILES } from './layout.ts';

const of = (type: string, optional: boolean): Column => ({
  type,
  optional,
  compression: 'GZIP',
  statistics: false,
});
const TEXT = of('UTF8', false);
const COUNT = of('INT32', false);
const NUMBER = of('DOUBLE', false);
/** As the run stores numbers of tokens. */
const SINGLE = of('FLOAT', false);
const YES = of('BOOLEAN', false);
const MAYBE_TEXT = of('UTF8', true);
const MAYBE_COUNT = of('INT32', true);
const MAYBE_NUMBER = of('DOUBLE', true);

/** Readers show a list as a list only where it is annotated as one and its levels have these names. */
const list = (element: Column): Column => ({
  type: 'LIST',
  fields: { list: { repeated: true, fields: { element } } },
});

/** One row per trajectory. Absent numbers are null and never 0. */
const COLUMNS: Record<string, Column> = {
  step: COUNT,
  tree: TEXT,
  path: COUNT,
  task: TEXT,
  ability: TEXT,
  question: TEXT,
  references: list(TEXT),
  origin: TEXT,
  stop: TEXT,
  calls: COUNT,
  prompt: TEXT,
  response: TEXT,
  answer: MAYBE_TEXT,
  correct: { ...YES, optional: true },
  reward: MAYBE_NUMBER,
  reward_parts: list({ fields: { name: TEXT, value: NUMBER } }),
  reason: MAYBE_TEXT,
  advantage: MAYBE_NUMBER,
  prompt_tokens: COUNT,
  response_tokens: COUNT,
  trained_tokens: COUNT,
  /** Tokens after the prompt that other trajectories of the tree share. */
  shared_tokens: COUNT,
  segments: list({
    fields: {
      segment: COUNT,
      kind: TEXT,
      text: TEXT,
      tokens: COUNT,
      turn: COUNT,
      trained: YES,
      stop: MAYBE_TEXT,
      entropy: MAYBE_NUMBER,
      /** Mean advantage of the trajectories through the segment. */
      credit: MAYBE_NUMBER,
      tool: MAYBE_TEXT,
      argument: MAYBE_TEXT,
      outcome: MAYBE_TEXT,
      latency_ms: MAYBE_NUMBER,
    },
  }),
  /** The branching questions that this trajectory was asked. */
  decisions: list({
    fields: {
      segment: COUNT,
      initial_entropy: NUMBER,
      entropy: NUMBER,
      probability: NUMBER,
      draw: MAYBE_NUMBER,
      threshold: MAYBE_NUMBER,
      outcome: TEXT,
      child: MAYBE_COUNT,
    },
  }),
  /** The tokens that the policy drew on the trajectory, each with the likeliest ones there; null where those were not recorded. */
  drawn_tokens: {
    ...list({
      fields: {
        segment: COUNT,
        id: COUNT,
        log_prob: SINGLE,
        /** Likeliest first, the drawn one among them or not. */
        alternatives: list({ fields: { id: COUNT, log_prob: SINGLE } }),
      },
    }),
    optional: true,
  },
};

/** Large pages: texts are long, and each page costs a header. */
const PAGE_ROWS = 1 << 16;
/** A group of rows is encoded in one go, while nothing that is asked of the worker can be answered. */
const GROUP_ROWS = 128;

/** Writes trajectories/step-000041.parquet whole, in place of an earlier one of the step; returns its name in the run folder. */
export async function writeTrajectories(
  runFolder: string,
  step: number,
  grown: readonly Grown[],
  trainForced: boolean,
): Promise<string> {
  const rows = grown.flatMap(({ tree, columns }) => {
    const drawn = drawnRows({ tree, columns });
    return tree.paths.map((_, path) => ({
      ...rowOf(tree, path, trainForced),
      ...(drawn && { drawn_tokens: listed(segmentsOf(tree, path).flatMap(segment => drawn[segment]!)) }),
    }));
  });
  const bytes = await encodeRows(rows);
  makeFolder(join(runFolder, FILES.trajectories));
  const name = `${FILES.trajectories}/${checkpointName(step)}.parquet`;
  writeAtomically(join(runFolder, name), bytes);
  return name;
}

async function encodeRows(rows: readonly object[]): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  // Pages of version 1 are read by every tool.
  const options = { useDataPageV2: false, pageSize: PAGE_ROWS };
  const writer = await parquet.ParquetWriter.openStream(new parquet.ParquetSchema(COLUMNS), stream, options);
  writer.setRowGroupSize(GROUP_ROWS);
  for (const row of rows) {
    await writer.appendRow(row);
    // What is asked of the worker meanwhile is answered between two rows.
    await setImmediate();
  }
  await writer.close();
  return Buffer.concat(chunks);
}

/** The row of one trajectory, as the library takes it: lists in lists, and absent values left out. */
function rowOf(tree: Tree, index: number, trainForced: boolean): object {
  const path = tree.paths[index]!;
  const indexes = segmentsOf(tree, index);
  const through = pathsThrough(tree);
  const tokens = (fits: (segment: number) => boolean): number =>
    indexes.filter(fits).reduce((sum, segment) => sum + tree.segments[segment]!.count, 0);
  const kindOf = (segment: number): Tree['segments'][number]['kind'] => tree.segments[segment]!.kind;
  const { id, ability, question, references } = tree.task;
  const { origin, stop, calls } = path;
  return {
    ...{ step: tree.step, tree: tree.id, path: index, task: id, ability, question, origin, stop, calls },
    references: listed(references),
    prompt: tree.segments[0]!.text,
    response: responseText(tree, index),
    ...rewardColumns(path),
    advantage: tree.credit?.soft[index],
    prompt_tokens: tokens(segment => kindOf(segment) === 'prompt'),
    response_tokens: tokens(segment => kindOf(segment) !== 'prompt'),
    trained_tokens: tokens(segment => isTrained(kindOf(segment), trainForced)),
    shared_tokens: tokens(segment => kindOf(segment) !== 'prompt' && through[segment]!.length > 1),
    segments: listed(indexes.map(segment => segmentRow(tree, segment, trainForced))),
    decisions: listed(tree.decisions.filter(decision => decision.path === index).map(decisionRow)),
  };
}

const listed = (items: readonly unknown[]): object => ({ list: items.map(element => ({ element })) });

function rewardColumns({ reward }: Path): object {
  const parts = Object.entries(reward?.parts ?? {}).map(([name, value]) => ({ name, value }));
  const { answer, correct, total, reason } = reward ?? {};
  return { answer, correct, reward: total, reward_parts: listed(parts), reason };
}

function segmentRow(tree: Tree, segment: number, trainForced: boolean): object {
  const { kind, text, count, turn, stop, entropy, call } = tree.segments[segment]!;
  return {
    ...{ segment, kind, text, tokens: count, turn, stop, entropy },
    trained: isTrained(kind, trainForced),
    credit: tree.credit?.hard[segment] ?? undefined,
    tool: call?.tool,
    argument: call?.argument,
    outcome: call?.outcome,
    latency_ms: call?.latencyMs,
  };
}

/** [segment] its drawn tokens; undefined where their alternatives were not recorded. */
function drawnRows({ tree, columns }: Grown): object[][] | undefined {
  const { ids, samplerLogProbs, alternatives } = columns;
  if (alternatives === undefined) return undefined;
  const starts = alternativeStarts(columns);
  const likely = (from: number): object[] =>
    Array.from(alternatives.ids.subarray(from, from + alternatives.k), (id, i) => ({
      id,
      log_prob: alternatives.logProbs[from + i],
    }));
  return tree.segments.map(({ start, count }, segment) =>
    Array.from({ length: count }, (_, i) => start + i)
      .filter(token => starts[token]! >= 0)
      .map(token => ({
        ...{ segment, id: ids[token], log_prob: samplerLogProbs[token] },
        alternatives: listed(likely(starts[token]!)),
      })),
  );
}

function decisionRow({
  segment,
  initialEntropy,
  entropy,
  probability,
  draw,
  threshold,
  outcome,
  child,
}: Decision): object {
  return { segment, initial_entropy: initialEntropy, entropy, probability, draw, threshold, outcome, child };
}
