/** What a segment is, in words and numbers. Knows nothing of the page. */
import type { Line } from '../../src/core/explain.ts';
import { counted, plain } from '../../src/core/figures.ts';
import { branchValue, rewardsThrough } from '../../src/core/branchValue.ts';
import { isInLoss, prefixWeights, segmentCredit, type CreditView } from '../../src/core/segmentCredit.ts';
import type { Decision, Segment, Tree } from '../../src/core/types.ts';
import { shorten } from '../../src/core/wrap.ts';
import { number, signed, spoken } from '../shared/format.ts';

export const segmentName = (segment: Segment): string =>
  segment.kind === 'tool'
    ? `${(segment.call ?? segment.asked)?.tool ?? 'tool'} result`
    : segment.kind === 'model'
      ? `turn ${segment.turn + 1}`
      : segment.kind === 'forced'
        ? 'forced end'
        : 'prompt';

export function segmentLines(tree: Tree, index: number, paths: readonly number[]): Line[] {
  const segment = tree.segments[index]!;
  const { count, entropy, stop, call, asked } = segment;
  const trained = isInLoss(tree, index) ? 'trained' : 'not trained';
  return [
    {
      term: 'tokens',
      value: tree.imported?.hasTokens === false ? `not logged, ${trained}` : `${count}, ${trained}`,
    },
    {
      term: 'on',
      value: paths.length === 1 ? '1 trajectory' : `${paths.length} trajectories`,
      meaning: 'How many trajectories share it: it is stored and computed once.',
    },
    ...(entropy === undefined
      ? []
      : [{ term: 'entropy', value: plain(entropy), meaning: 'Score of its first tokens, in nats.' }]),
    ...(stop === undefined ? [] : [{ term: 'ended by', value: stop }]),
    ...(call === undefined
      ? []
      : [
          { term: 'call', value: `${call.tool}: ${call.outcome}${call.shared ? ', shared' : ''}` },
          { term: 'latency', value: `${spoken(call.latencyMs)} ms` },
        ]),
    ...(asked === undefined
      ? []
      : [
          { term: 'call', value: `${asked.tool}: outcome not logged` },
          { term: 'latency', value: 'not logged' },
        ]),
    ...(tree.imported !== undefined && entropy === undefined && segment.kind === 'model'
      ? [{ term: 'entropy', value: 'not logged' }]
      : []),
    ...creditLines(tree, index),
  ];
}

/** The views of a segment's credit, each where it has one. */
function creditLines(tree: Tree, index: number): Line[] {
  const reward = rewardsThrough(tree)[index];
  const weight = prefixWeights(tree)[index];
  const list = (term: string, values: readonly number[], meaning: string): Line[] =>
    values.length === 0 ? [] : [{ term, value: listed(values), meaning }];
  const of = (view: CreditView): readonly number[] => segmentCredit(tree, view)[index] ?? [];
  return [
    ...(reward === undefined
      ? []
      : [{ term: 'R', value: number(reward), meaning: 'Mean reward of the trajectories through it.' }]),
    ...list('A trained', of('trained'), `What the update used: ${tree.credit?.used ?? ''} credit.`),
    ...list('A hard', of('hard'), 'Mean advantage of the trajectories through this segment.'),
    ...list(
      'A step',
      tree.credit?.steps?.[index] ?? [],
      'What the comparison with turns that began in the same state adds, for each trajectory.',
    ),
    ...list('A soft', of('soft'), 'Advantage of each trajectory through this segment.'),
    ...list(
      'A sibling',
      of('sibling'),
      'Mean reward on this side of the last fork, less that on the other sides.',
    ),
    ...(weight === undefined
      ? []
      : [
          {
            term: 'prefix weight',
            value: `${signed(weight.sum)}, ${weight.times}×`,
            meaning:
              'Σ over the trajectories below of the credit that the update used, and how many bring a term: how hard its tokens are pushed.',
          },
        ]),
  ];
}

/** So many numbers are told one by one. */
const LISTED = 8;

const listed = (values: readonly number[]): string =>
  values.length <= LISTED
    ? values.map(signed).join(', ')
    : `${signed(Math.min(...values))} … ${signed(Math.max(...values))}, ø ${signed(values.reduce((a, b) => a + b, 0) / values.length)}`;

/** What branching at a decision's place was worth, in a sentence; undefined where nothing left there or rewards are missing. */
export function valueSentence(tree: Tree, { path, segment }: Decision): string | undefined {
  const found = branchValue(tree, { path, segment });
  if (!found) return undefined;
  const { branches, mean, left, value, extraCalls, sharedCalls, sharedTokens } = found;
  const earned =
    branches.length === 1 ? 'The branch earned' : `The ${branches.length} branches earned on average`;
  return `${earned} ${number(mean)}, the trajectory that ${branches.length === 1 ? 'it' : 'they'} left ${number(left)}: value ${signed(value)}. ${counted(extraCalls, 'extra call')}; shared: ${counted(sharedCalls, 'call')}, ${counted(sharedTokens, 'token')}.`;
}

/**
 * Credit of a segment in so many letters: one number, or the range of what its trajectories have, or their mean where there is
 * no room for that; undefined where it has none.
 */
export function creditText(values: readonly number[], letters: number): string | undefined {
  if (values.length === 0) return undefined;
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (least === most) return signed(most);
  const range = `${signed(least)} … ${signed(most)}`;
  return range.length <= letters ? range : `ø ${signed(values.reduce((a, b) => a + b, 0) / values.length)}`;
}

export const titleOf = ({ step, task }: Tree): string => `Step ${step} · ${shorten(task.question, 120)}`;

/** The tree in a line. */
export function factsOf(tree: Tree): string {
  const { paths, total, initial, decisions, rule, task, credit, probe, isDropped } = tree;
  const answered = (wanted: Decision['outcome']): number =>
    decisions.filter(({ outcome }) => outcome === wanted).length;
  const filled = paths.filter(({ origin }) => origin === 'fill').length;
  const budget = answered('budget') + answered('length');
  const expected = task.references.length > 0 ? [`expected ${task.references.join(' or ')}`] : [];
  if (tree.imported)
    return [
      `imported from ${tree.imported.source}`,
      `${paths.length} trajectories of one prompt`,
      'branching, entropy and credit not logged',
      ...expected,
    ].join(' · ');
  return [
    `${paths.length} of ${total} trajectories, ${initial} from the prompt`,
    `${answered('branch')} branched · ${answered('refuse')} refused · ${filled} filled`,
    ...(budget > 0 ? [`${budget} without budget or tokens`] : []),
    `rule ${rule}`,
    ...(probe ? [`probe H_root ${plain(probe.rootEntropy)}, H̄ ${plain(probe.turnEntropy)}`] : []),
    ...expected,
    credit
      ? `update used ${credit.used} credit`
      : isDropped
        ? 'left out of learning'
        : paths.every(({ reward }) => reward)
          ? 'no credit'
          : 'still growing',
  ].join(' · ');
}
