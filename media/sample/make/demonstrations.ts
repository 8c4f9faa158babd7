/**
 * Demonstrations of mixed quality for the cold start: good ones look up, compute and answer; poor ones guess, use the
 * wrong tool or operation, or stop after the first hop. Knows nothing of tokens or training.
 */
import type { Draws } from './draws.ts';
import type { Question } from './questions.ts';

/** A stretch of the assistant's message; tool text is read, not learned. */
export interface Piece {
  text: string;
  trained: boolean;
}

export interface Demonstration {
  question: Question;
  pieces: Piece[];
}

export interface DemonstrationWorld {
  /** The text that the live search tool gives. */
  search(query: string): string;
  /** Names that a wrong answer may be taken from. */
  capitals: readonly string[];
  currencies: readonly string[];
}

/** Writes the assistant's message piece by piece. */
interface Pen {
  think(text: string): void;
  search(query: string): void;
  /** Returns what Python prints. */
  compute(a: number, operator: '+' | '-' | '*', b: number): string;
  answer(text: string): void;
}

const PHRASES: Readonly<Record<'population' | 'capital' | 'country' | 'currency', readonly string[]>> = {
  population: ['population of ', ''],
  capital: ['capital of ', ''],
  country: ['country of ', ''],
  currency: ['currency of ', ''],
};
const OPERATORS = { sum: '+', difference: '-', product: '*' } as const;

/** A demonstration that is good with the given probability. */
export function demonstrate(
  draws: Draws,
  world: DemonstrationWorld,
  question: Question,
  goodShare: number,
): Demonstration {
  const pieces: Piece[] = [];
  const pen = penFor(pieces, world);
  const good = draws.chance(goodShare);
  const write = { draws, world, pen, question, good };
  switch (question.kind) {
    case 'population':
    case 'capital':
      oneHop(write);
      break;
    case 'capital-population':
    case 'currency':
      twoHops(write);
      break;
    case 'sum':
    case 'difference':
      twoCities(write);
      break;
    case 'product':
      product(write);
  }
  return { question, pieces };
}

function penFor(pieces: Piece[], world: DemonstrationWorld): Pen {
  const model = (text: string): number => pieces.push({ text, trained: true });
  const result = (text: string): number =>
    pieces.push({ text: ` <result>\n${text}\n</result>`, trained: false });
  return {
    think: text => model(`<think> ${text}</think>`),
    search(query) {
      model(`<search> ${query}</search>`);
      result(world.search(query));
    },
    compute(a, operator, b) {
      model(`<python> print( ${a} ${operator} ${b} )</python>`);
      const printed = String(operator === '+' ? a + b : operator === '-' ? a - b : a * b);
      result(printed);
      return printed;
    },
    answer: text => model(`<answer>\\boxed{ ${text} }</answer>`),
  };
}

interface Writing {
  draws: Draws;
  world: DemonstrationWorld;
  pen: Pen;
  question: Question;
  good: boolean;
}

const lookUp = ({ draws, pen }: Writing, { name, about }: Question['lookUps'][number]): void =>
  pen.search(draws.pick(PHRASES[about]) + name);

function guess({ draws, world, pen, question }: Writing, thought: string): void {
  pen.think(thought);
  pen.answer(wrong(draws, world, question));
}

function oneHop(write: Writing): void {
  const { draws, pen, question, good } = write;
  const [first] = question.lookUps;
  if (!good && draws.chance(0.5)) return guess(write, 'I know this.');
  pen.think('I look this up.');
  lookUp(write, first!);
  pen.answer(question.answer);
}

function twoHops(write: Writing): void {
  const { draws, pen, question, good } = write;
  const [first, second] = question.lookUps;
  pen.think(`First the ${first!.about}.`);
  lookUp(write, first!);
  if (!good && draws.chance(0.5)) return guess(write, 'I know this.');
  if (!good) return pen.answer(second!.name);
  pen.think(`Now its ${second!.about}.`);
  lookUp(write, second!);
  pen.answer(question.answer);
}

function twoCities(write: Writing): void {
  const { draws, pen, question, good } = write;
  const [first, second] = question.lookUps;
  const [a, b] = question.operands!;
  const operator = question.kind === 'sum' ? '+' : '-';
  pen.think('I look up both.');
  lookUp(write, first!);
  const flaw = good ? 'none' : draws.pick(['operation', 'head', 'one city'] as const);
  if (flaw === 'one city') return guess(write, 'I know the other one.');
  lookUp(write, second!);
  if (flaw === 'head') return guess(write, 'I do this in my head.');
  pen.answer(pen.compute(a, flaw === 'none' ? operator : operator === '+' ? '-' : '+', b));
}

function product(write: Writing): void {
  const { draws, pen, question, good } = write;
  const [a, b] = question.operands!;
  if (good) {
    pen.think('I compute this.');
    pen.answer(pen.compute(a, OPERATORS.product, b));
    return;
  }
  if (draws.chance(0.5)) return guess(write, 'I do this in my head.');
  pen.think('I look this up.');
  pen.search(`${a} * ${b}`);
  pen.answer(wrong(draws, write.world, question));
}

/** An answer as somebody gives it who does not know: a few digits off, or another place's. */
function wrong(draws: Draws, world: DemonstrationWorld, { kind, answer }: Question): string {
  if (kind === 'capital') return draws.pick(world.capitals.filter(capital => capital !== answer));
  if (kind === 'currency') return draws.pick(world.currencies.filter(currency => currency !== answer));
  const digits = [...answer];
  while (digits.join('') === answer) {
    const i = draws.between(0, digits.length - 1);
    digits[i] = String(draws.between(i === 0 ? 1 : 0, 9));
  }
  return digits.join('');
}
