/** Claims about a tree's numbers: decisions, masks, rewards, advantages, tokens. Knows nothing of how they were made. */
import { branchProbability, passesDraw, type BranchSettings } from './branching.ts';
import type { Checked, Found } from './findings.ts';
import { alternativeStarts } from './alternatives.ts';
import { isTrained, pathsThrough } from './tree.ts';
import type { Decision, TokenColumns, Tree } from './types.ts';

/** Sums and formulas may differ by rounding only. */
const TOLERANCE = 1e-6;
/** Log-probabilities and entropies are stored with 24 bits. */
const SINGLE = 1e-4;

/** P is the rule's formula, the answer follows from it, and a branch has its child. */
export function decisions({ tree }: Checked): Found[] {
  return tree.decisions.flatMap((decision, index): Found[] => {
    const message = wrongNumbers(decision) ?? wrongAnswer(tree, decision);
    if (message === undefined) return [];
    const { path, segment } = decision;
    return [{ path, segment, message: `Decision ${index}: ${message}` }];
  });
}

const settingsOf = ({
  rule,
  gate,
  branchProbability,
  entropyWeight,
  threshold,
}: Decision): BranchSettings => ({
  rule,
  gate,
  branchProbability,
  entropyWeight,
  threshold: threshold ?? NaN,
});

function wrongNumbers(decision: Decision): string | undefined {
  const { entropy, initialEntropy, entropyDelta, probability, penalty } = decision;
  const delta = entropy - initialEntropy;
  if (!isClose(entropyDelta, delta)) return `ΔH is ${entropyDelta}, but Hₜ − H₀ is ${delta}.`;
  const expected = branchProbability(settingsOf(decision), entropyDelta, penalty);
  return isClose(probability, expected) ? undefined : `P is ${probability}, but the rule gives ${expected}.`;
}

function wrongAnswer(tree: Tree, decision: Decision): string | undefined {
  const { gate, draw, threshold, probability, outcome, child, penalty, entropyDelta, made, total } = decision;
  if ((outcome === 'branch') !== (child !== undefined))
    return `the answer is ${outcome}, with ${child === undefined ? 'no' : 'a'} child.`;
  if (child !== undefined) {
    const from = tree.paths[child]?.from;
    if (from?.path !== decision.path || from.segment !== decision.segment)
      return `path ${child} is named as its child, but did not leave there.`;
  }
  if ((outcome === 'budget') !== made >= total && outcome !== 'length')
    return `the answer is ${outcome}, with ${made} of ${total} trajectories made.`;
  if (outcome !== 'branch' && outcome !== 'refuse') return undefined;
  if (gate === 'threshold' ? threshold === undefined : draw === undefined)
    return `it has no ${gate === 'threshold' ? 'τ' : 'draw'}.`;
  const passes =
    gate === 'threshold'
      ? probability > threshold!
      : passesDraw(settingsOf(decision), entropyDelta, draw!, penalty);
  return passes === (outcome === 'branch')
    ? undefined
    : `the gate says ${passes ? 'branch' : 'refuse'}, the answer is ${outcome}.`;
}

/** Exactly what a model drew has sampler numbers, and exactly what is trained has credit. */
export function masks({ tree, columns, settings }: Checked): Found[] {
  const through = tree.credit ? pathsThrough(tree) : [];
  return tree.segments.flatMap(({ kind, start, count }, segment): Found[] => {
    const { hard, steps } = tree.credit ?? {};
    const trained = isTrained(kind, settings.trainForced);
    if (hard && (hard[segment] !== null) !== trained)
      return [{ segment, message: `Segment ${segment} (${kind}) ${trained ? 'lacks' : 'has'} credit.` }];
    const added = steps?.[segment]?.length ?? 0;
    const expected = trained ? through[segment]?.length : 0;
    if (steps && added !== expected)
      return [
        {
          segment,
          message: `Segment ${segment} (${kind}) has ${added} step credits instead of ${expected}.`,
        },
      ];
    if (!columns) return [];
    for (let token = start; token < start + count; token++)
      if (Number.isNaN(columns.samplerLogProbs[token]) === (kind === 'model')) {
        const message = `Token ${token} is of a ${kind} segment, and ${kind === 'model' ? 'was not drawn' : 'has the numbers of a draw'}.`;
        return [{ segment, token, message }];
      }
    return [];
  });
}

/** Every path was judged, and a total of ours is the sum of its parts. */
export function rewards({ tree, settings }: Checked): Found[] {
  return tree.paths.flatMap(({ reward }, path): Found[] => {
    if (!reward) return [{ path, message: `Path ${path} was not judged.` }];
    if (settings.ownReward) return [];
    const sum = Object.values(reward.parts).reduce((total, part) => total + part, 0);
    if (isClose(sum, reward.total)) return [];
    return [{ path, message: `Path ${path} has the reward ${reward.total}, but its parts add to ${sum}.` }];
  });
}

/** A group that is compared with itself has advantages that add to 0, and hard credit is the mean over the paths below. */
export function advantages({ tree, settings }: Checked): Found[] {
  if (!tree.credit) return [];
  const { soft, hard, steps } = tree.credit;
  const found: Found[] = [];
  const isGroups =
    settings.scale !== 'batch-std' && ['group-mean', 'leave-one-out'].includes(settings.baseline);
  const sum = soft.reduce((total, advantage) => total + advantage, 0);
  const size = Math.max(1, ...soft.map(Math.abs));
  if (isGroups && soft.length > 1 && !isClose(sum / size, 0))
    found.push({ message: `The advantages of the group add to ${sum} instead of 0.` });
  pathsThrough(tree).forEach((paths, segment) => {
    const credit = hard[segment];
    if (credit === null || credit === undefined) return;
    const mean =
      paths.reduce((total, path, i) => total + soft[path]! + (steps?.[segment]?.[i] ?? 0), 0) / paths.length;
    if (!isClose(credit / size, mean / size))
      found.push({
        segment,
        message: `Segment ${segment} has the hard credit ${credit}; the mean over its paths is ${mean}.`,
      });
  });
  return found;
}

/** No number that should be one is NaN or infinite, and probabilities and entropies are in their ranges. */
export function finite({ tree, columns }: Checked): Found[] {
  const found: Found[] = [];
  const need = (value: number | null | undefined, what: string, at: Partial<Found>): void => {
    if (value !== null && value !== undefined && !Number.isFinite(value))
      found.push({ ...at, message: `${what} is ${value}.` });
  };
  tree.segments.forEach(({ entropy }, segment) =>
    need(entropy, `The entropy of segment ${segment}`, { segment }),
  );
  tree.paths.forEach(({ reward }, path) => need(reward?.total, `The reward of path ${path}`, { path }));
  tree.credit?.soft.forEach((advantage, path) => need(advantage, `The advantage of path ${path}`, { path }));
  tree.credit?.hard.forEach((credit, segment) =>
    need(credit, `The credit of segment ${segment}`, { segment }),
  );
  if (columns) {
    found.push(...tree.segments.flatMap((_, segment) => tokenNumbers({ tree, columns }, segment)));
    found.push(...wrongAlternatives(columns));
  }
  return found;
}

/** The first drawn token whose alternatives are no log-probabilities, likeliest first, that agree with its own. */
function wrongAlternatives(columns: TokenColumns): Found[] {
  const { ids, samplerLogProbs, alternatives } = columns;
  if (alternatives === undefined) return [];
  const { k } = alternatives;
  const starts = alternativeStarts(columns);
  const token = starts.findIndex((start, at) => {
    if (start < 0) return false;
    const [likely, logProbs] = [alternatives.ids, alternatives.logProbs].map(column =>
      column.subarray(start, start + k),
    ) as [Int32Array, Float32Array];
    const isOrdered = logProbs.every((value, i) => value <= (i === 0 ? SINGLE : logProbs[i - 1]!));
    const own = likely.indexOf(ids[at]!);
    const gap = samplerLogProbs[at]! - logProbs[own < 0 ? k - 1 : own]!;
    return !isOrdered || likely.some(id => id < 0) || (own < 0 ? gap : Math.abs(gap)) > SINGLE;
  });
  return token < 0
    ? []
    : [{ token, message: `Token ${token} has alternatives that are not the likeliest tokens in order.` }];
}

/** The first token of a segment whose log-probabilities or entropy are none. */
function tokenNumbers(
  { tree, columns }: Required<Pick<Checked, 'tree' | 'columns'>>,
  segment: number,
): Found[] {
  const { kind, start, count } = tree.segments[segment]!;
  const { samplerLogProbs, trainerLogProbs, entropies, ids } = columns;
  const isDrawn = kind === 'model';
  const isWrong = (logProb: number): boolean => logProb > SINGLE || logProb === -Infinity;
  const bad = (token: number, what: string, value: number | undefined): Found[] => [
    { segment, token, message: `Token ${token} has the ${what} ${value}.` },
  ];
  for (let token = start; token < start + count; token++) {
    const sampled = samplerLogProbs[token]!;
    const trained = trainerLogProbs[token]!;
    const entropy = entropies[token]!;
    if (!(ids[token]! >= 0)) return bad(token, 'id', ids[token]);
    if (isWrong(sampled)) return bad(token, 'sampler log-probability', sampled);
    if (isWrong(trained)) return bad(token, 'trainer log-probability', trained);
    if (isDrawn ? !(entropy >= -SINGLE && entropy < Infinity) : !Number.isNaN(entropy))
      return bad(token, 'entropy', entropy);
  }
  return [];
}

const isClose = (a: number, b: number): boolean => Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(b));
