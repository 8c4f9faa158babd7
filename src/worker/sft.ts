/**
 * Supervised fine-tuning, the cold start before ARPO: demonstrations → rows → updates. Tool text is read and never
 * learned. Knows nothing of where demonstrations come from, files or how a policy computes.
 */
import { packRows, type Row } from '../core/batch.ts';
import { whole } from '../core/figures.ts';
import { LIKELIHOOD } from '../core/objective.ts';
import { FailureError, type Message } from '../core/types.ts';
import type { Policy, StepSettings } from './policy/policy.ts';

/** One message of the assistant, as it should have been, after a prompt. */
export interface Demonstration {
  messages: readonly Message[];
  /** The assistant's message in order; what is not trained is tool text. The end of sequence follows and is trained. */
  pieces: readonly { text: string; trained: boolean }[];
}

/** What fine-tuning needs of a tokenizer. */
export interface SftTokenizer {
  /** Ids of the chat template's text, generation prompt included. */
  encodePrompt(messages: readonly Message[]): ArrayLike<number>;
  /** Ids of a text, without any added at its ends. */
  encode(text: string): ArrayLike<number>;
  readonly endIds: readonly number[];
}

export interface SftSettings extends Omit<StepSettings, 'learningRate'> {
  /** Tokens to read in all, prompts and tool text included. */
  tokens: number;
  rowsPerUpdate: number;
  /** Longer rows are left out. */
  maxRowTokens: number;
  /** The highest learning rate: reached after the warm-up, held until `decayFrom`, then brought down to `finalShare`. */
  learningRate: number;
  warmupUpdates: number;
  /** Share of the tokens after which the rate falls, in [0, 1]. */
  decayFrom: number;
  decay: 'linear' | 'cosine';
  /** Share of the highest rate that is left at the end. */
  finalShare: number;
  saveEveryUpdates: number;
}

/** How far a fine-tuning has come; all that is needed to go on beside weights and optimiser state. */
export interface SftState {
  updates: number;
  tokens: number;
  /** Demonstrations taken, those too long included. */
  rows: number;
}

export interface SftProgress extends SftState {
  /** Mean −log p of the update's trained tokens. */
  loss: number;
  gradientNorm: number;
  learningRate: number;
  /** False where the gradient was not finite and nothing was changed. */
  applied: boolean;
}

export interface SftWork {
  policy: Pick<Policy, 'accumulate' | 'step'>;
  tokenizer: SftTokenizer;
  /** Demonstrations from the given one on, without end; the same ones every time. */
  demonstrations: (from: number) => Iterable<Demonstration> | AsyncIterable<Demonstration>;
  settings: SftSettings;
  /** Where an earlier fine-tuning stopped. */
  from?: SftState;
  tell: (progress: SftProgress) => void;
  /** Called every so many updates, and at the end or stop. */
  save: (state: SftState) => Promise<void>;
  signal: AbortSignal;
}

/** ARPO's own cold start: 7e-6 with cosine decay after a short warm-up, 16 rows an update. */
export const SFT_DEFAULTS: Omit<SftSettings, 'tokens'> = {
  rowsPerUpdate: 16,
  maxRowTokens: 15_000,
  learningRate: 7e-6,
  warmupUpdates: 100,
  decayFrom: 0,
  decay: 'cosine',
  finalShare: 0,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.05,
  maxGradientNorm: 1,
  saveEveryUpdates: 500,
};

/** Demonstrations come without end: where so many in a row are too long, none may ever fit. */
const MOST_TOO_LONG = 10_000;

/**
 * Fine-tunes until the budget of tokens is read, the demonstrations end, or a stop is asked for; saves last. Throws a FailureError
 * where only rows come that are too long.
 */
export async function runSft(work: SftWork): Promise<SftState> {
  const { policy, settings, tell, save, signal } = work;
  let state = work.from ?? { updates: 0, tokens: 0, rows: 0 };
  for await (const { rows, taken } of updatesOf(work, state.rows)) {
    if (signal.aborted || state.tokens >= settings.tokens) break;
    const learningRate = learningRateAt(settings, state);
    const { report } = await policy.accumulate(packRows(rows), LIKELIHOOD);
    const { gradientNorm, applied } = await policy.step(stepSettings(settings, learningRate));
    const tokens = rows.reduce((sum, { ids }) => sum + ids.length, state.tokens);
    state = { updates: state.updates + 1, tokens, rows: state.rows + taken };
    tell({ ...state, loss: report.loss, gradientNorm, learningRate, applied });
    if (state.updates % settings.saveEveryUpdates === 0) await save(state);
  }
  await save(state);
  return state;
}

/** The rate of the next update. */
export function learningRateAt(settings: SftSettings, { updates, tokens }: SftState): number {
  const { learningRate, warmupUpdates, decayFrom, decay, finalShare } = settings;
  const warmUp = Math.min(1, (updates + 1) / Math.max(1, warmupUpdates));
  const done = Math.min(1, tokens / settings.tokens);
  const fallen = decayFrom < 1 ? Math.max(0, (done - decayFrom) / (1 - decayFrom)) : 0;
  const left = decay === 'linear' ? 1 - fallen : (1 + Math.cos(Math.PI * fallen)) / 2;
  return learningRate * warmUp * (finalShare + (1 - finalShare) * left);
}

function stepSettings(settings: SftSettings, learningRate: number): StepSettings {
  const { beta1, beta2, epsilon, weightDecay, maxGradientNorm } = settings;
  return { learningRate, beta1, beta2, epsilon, weightDecay, maxGradientNorm };
}

/** Rows of one update after the other, with the number of demonstrations that they took. */
async function* updatesOf(
  { tokenizer, demonstrations, settings }: SftWork,
  from: number,
): AsyncGenerator<{ rows: Row[]; taken: number }> {
  let rows: Row[] = [];
  let taken = 0;
  let tooLong = 0;
  for await (const demonstration of demonstrations(from)) {
    taken++;
    const row = rowOf(tokenizer, demonstration);
    tooLong = row.ids.length > settings.maxRowTokens ? tooLong + 1 : 0;
    if (tooLong === MOST_TOO_LONG) throw allTooLong(settings.maxRowTokens);
    if (tooLong > 0) continue;
    rows.push(row);
    if (rows.length < settings.rowsPerUpdate) continue;
    yield { rows, taken };
    rows = [];
    taken = 0;
  }
  if (rows.length > 0) yield { rows, taken };
}

const allTooLong = (tokens: number): FailureError =>
  new FailureError({
    where: 'config',
    message: `${whole(MOST_TOO_LONG)} demonstrations one after the other have more than ${tokens} tokens, so that none of them is learned from.`,
    fix: 'Raise rollout.maxPromptTokens or rollout.maxResponseTokens, or shorten the demonstrations.',
  });

/** Token ids and weights. Pieces are encoded one by one, as the loop meets them: a turn is drawn, a result is inserted. */
export function rowOf(tokenizer: SftTokenizer, { messages, pieces }: Demonstration): Row {
  const ids = Array.from(tokenizer.encodePrompt(messages));
  const weights = ids.map(() => 0);
  const append = (more: ArrayLike<number>, weight: number): void => {
    for (let i = 0; i < more.length; i++) {
      ids.push(more[i]!);
      weights.push(weight);
    }
  };
  for (const { text, trained } of pieces) append(tokenizer.encode(text), trained ? 1 : 0);
  append(tokenizer.endIds.slice(0, 1), 1);
  return { ids, weights };
}
