/**
 * Rollouts that verl writes to `trainer.rollout_data_dir`: `<step>.jsonl`, a row per sample with the texts before and after the
 * prompt's end. Turns are told apart by the tags of results, for a row has one text. Knows nothing of how files are read.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { callArgument } from '../../core/tags.ts';
import type { Reward } from '../../core/types.ts';
import { answersIn, aside, type Format, lacks, numberOf, type Row } from './format.ts';
import type { Piece, Sample } from './sample.ts';

const FILE = /^(\d+)\.jsonl$/;

export const VERL: Format = {
  source: 'verl',
  filesIn: folder =>
    readdirSync(folder)
      .flatMap(name => {
        const step = FILE.exec(name)?.[1];
        return step === undefined ? [] : [{ step: Number(step), path: join(folder, name) }];
      })
      .sort((a, b) => a.step - b.step),
  // It writes the prompt first, and rows may be longer than what is looked at.
  begins: head => /^\s*\{\s*"input"\s*:\s*"/.test(head),
  samplesOf: row => [sampleOf(row)],
};

/** Fields that are shown elsewhere. */
const OWN = ['input', 'output', 'gts', 'score', 'step', 'uid'];
/** What verl's reward functions call the share of a right answer. */
const RIGHT = ['acc', 'accuracy', 'correct', 'is_correct'];

function sampleOf(row: Row): Sample {
  const { input, output, gts, uid, data_source: source } = row;
  if (typeof input !== 'string') throw lacks('has no text "input"');
  if (typeof output !== 'string') throw lacks('has no text "output"');
  if (numberOf(row.score) === undefined) throw lacks('has no number "score"');
  return {
    group: typeof uid === 'string' && uid !== '' ? uid : input,
    prompt: { text: input },
    question: questionOf(input),
    references: answersIn(gts),
    ability: typeof source === 'string' ? source : '',
    pieces: piecesOf(output),
    reward: rewardOf(row, numberOf(row.score)!),
  };
}

function rewardOf(row: Row, total: number): Reward {
  const judged = RIGHT.find(name => numberOf(row[name]) !== undefined);
  const correct = judged === undefined ? total >= 1 : numberOf(row[judged])! >= 1;
  const by = judged === undefined ? 'score' : judged;
  const numbers = Object.entries(row).flatMap(([name, value]) => {
    const number = OWN.includes(name) || !isMeasure(value) ? undefined : numberOf(value);
    return number === undefined ? [] : [[name, number] as const];
  });
  const { pred } = row;
  return {
    total,
    parts: Object.fromEntries(numbers),
    correct,
    ...(typeof pred === 'string' && pred !== '' && { answer: pred }),
    reason: `verl scored it ${total}; it counts as ${correct ? 'right' : 'wrong'} because its ${by} is ${correct ? '' : 'not '}1 or more.${aside(row, [...OWN, ...numbers.map(([name]) => name)])}`,
  };
}

/** A text of digits may be an answer or a name. */
const isMeasure = (value: unknown): boolean => typeof value === 'number' || typeof value === 'boolean';

/** The last thing the user said, where the chat template's roles can be told; else the whole prompt. */
function questionOf(input: string): string {
  const marks = [...input.matchAll(/(?:^|\n|<\|im_start\|>)user\n/g)];
  const last = marks.at(-1);
  if (!last) return input.trim();
  const said = input.slice(last.index + last[0].length);
  return said.replace(/(?:<\|im_end\|>)?\s*(?:<\|im_start\|>)?assistant\s*(?:<think>\s*)?$/, '').trim();
}

/**
 * A result's block, with the marks of turns around it, behind a call's closing tag or another result: what the environment
 * wrote. A block that the policy wrote itself follows no call.
 */
const RESULT =
  /(?<=<\/([\w-]+)>(?:<\|im_end\|>)?\s*)(?:(?:<\|im_start\|>)?(?:user|tool)\n)?\s*<(result|information|tool_response|observation|interpreter)>[^]*?(?:<\/\2>|$)(?:(?:<\|im_end\|>)?\s*(?:<\|im_start\|>)?assistant\n)?/g;
const RESULT_TAGS = ['result', 'information', 'tool_response', 'observation', 'interpreter'];

function piecesOf(output: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of output.matchAll(RESULT)) {
    const said = output.slice(from, found.index);
    if (said !== '') pieces.push({ kind: 'model', text: said });
    const asked = askedOf(said, found[1]!);
    pieces.push({ kind: 'tool', text: found[0], ...(asked && { asked }) });
    from = found.index + found[0].length;
  }
  if (from < output.length || pieces.length === 0) pieces.push({ kind: 'model', text: output.slice(from) });
  return pieces;
}

/** Undefined where the tag before is another result's: several calls of one turn are answered in a row. */
function askedOf(said: string, tag: string): Piece['asked'] {
  if (RESULT_TAGS.includes(tag)) return undefined;
  const argument = callArgument(said, tag);
  if (tag !== 'tool_call') return { tool: tag, argument };
  const name = /"name"\s*:\s*"([^"]+)"/.exec(argument)?.[1];
  return { tool: name ?? tag, argument };
}
