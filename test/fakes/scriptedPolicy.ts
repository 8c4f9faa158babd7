/** A Policy that says what a script tells it, over tokens of one character each. Learns nothing. */
import { evaluate, mergeReports } from '../../src/core/objective.ts';
import type { PackedTree } from '../../src/core/batch.ts';
import { characters, END } from './characters.ts';
import type { Policy, Sample, SampleRequest, Scores } from '../../src/worker/policy/policy.ts';

/** A whole turn: its text up to a stop string or END, and numbers per token (one number stands for all tokens). */
export interface Turn {
  text: string;
  entropies?: number | readonly number[];
  logProbs?: number | readonly number[];
  topLogProbs?: readonly (readonly number[])[];
}

/** Says a path's next turn. `said` is the path's text up to the turn, without what a preview of it has drawn already. */
export type Script = (said: string, request: SampleRequest) => Turn | Promise<Turn>;

export interface ScriptedPolicy extends Policy {
  /** Everything that was asked, in order, as `verb` or `verb argument`. */
  readonly asked: string[];
  readonly requests: SampleRequest[];
}

const INFO = {
  architecture: 'script',
  parameters: 1,
  vocabularySize: 65536,
  contextLength: 65536,
  weightsHash: '0',
};

const at = (numbers: number | readonly number[] | undefined, index: number): number =>
  typeof numbers === 'object' ? (numbers[index] ?? 0) : (numbers ?? -1);

/** The drawn token first, where it has a probability, and the ones after it in the vocabulary, each a nat less likely. */
function likeliest(text: string, logProbs: Float32Array, k: number): Pick<Sample, 'alternatives'> {
  if (k === 0) return {};
  const ids = characters.encode(text);
  const each = <T>(of: (token: number, i: number) => T): T[] =>
    Array.from(ids, (_, token) => Array.from({ length: k }, (_, i) => of(token, i))).flat();
  return {
    alternatives: {
      k,
      ids: Int32Array.from(each((token, i) => ids[token]! + i)),
      logProbs: Float32Array.from(each((token, i) => logProbs[token]! - i)),
    },
  };
}

export function scriptedPolicy(
  script: Script,
  stops: readonly string[] = ['</search>', '</python>'],
): ScriptedPolicy {
  const asked: string[] = [];
  const requests: SampleRequest[] = [];
  /** [stretch key] tokens of the turn drawn so far; absent for stretches that begin a turn. */
  const drawn = new Map<string, number>();
  const sample = async (request: SampleRequest): Promise<Sample> => {
    requests.push(request);
    const skip = drawn.get(request.path.at(-1)!.key) ?? 0;
    const path = request.path.map(stretch => String.fromCharCode(...stretch.ids)).join('');
    const turn = await script(path.slice(0, path.length - skip), request);
    const count = Math.min(request.maxTokens, turn.text.length - skip);
    const text = turn.text.slice(skip, skip + count);
    const numbers = (given: Turn['entropies']) =>
      Float32Array.from({ length: count }, (_, i) => at(given, skip + i));
    const isWhole = skip + count === turn.text.length;
    const stop = isWhole ? stops.find(found => turn.text.endsWith(found)) : undefined;
    const finish = stop !== undefined ? 'stop' : isWhole && text.endsWith(END) ? 'end' : 'length';
    if (finish === 'length') drawn.set(request.key, skip + count);
    const top = (turn.topLogProbs ?? []).slice(skip, skip + count).map(each => Float32Array.from(each));
    const measured = { logProbs: numbers(turn.logProbs), entropies: numbers(turn.entropies ?? 0) };
    const likely = likeliest(text, measured.logProbs, request.alternatives ?? 0);
    const asFound = { ...(stop && { stop }), ...(request.topLogProbs > 0 && { topLogProbs: top }) };
    return { ids: characters.encode(text), ...measured, ...asFound, ...likely, finish };
  };
  const scores = (tree: PackedTree): Scores => ({
    logProbs: new Float32Array(tree.ids.length).fill(-1).fill(NaN, 0, 1),
    entropies: new Float32Array(tree.ids.length).fill(1),
  });
  const told = <T>(what: string, answer: T): Promise<T> => (asked.push(what), Promise.resolve(answer));
  return {
    asked,
    requests,
    sample,
    open: ({ folder, device }) => told(`open ${folder}`, { ...INFO, device }),
    forget: prefix => told(`forget ${prefix}`, undefined),
    score: trees => told('score', trees.map(scores)),
    accumulate: ({ trees }, objective) => {
      const found = trees.map(scores);
      const parts = trees.map(
        (tree, i) => evaluate(tree, found[i]!.logProbs, found[i]!.entropies, objective).sums,
      );
      return told('accumulate', { report: mergeReports(parts), scores: found });
    },
    step: () => told('step', { gradientNorm: 1, applied: true }),
    save: folder => told(`save ${folder}`, undefined),
    load: folder => told(`load ${folder}`, undefined),
    close: () => told('close', undefined),
  };
}
