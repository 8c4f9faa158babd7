/** What the cards of segments and of ghosts have in common. Knows nothing of what is chosen. */
import type { Line } from '../../src/core/explain.ts';
import type { Segment, Tree } from '../../src/core/types.ts';
import { cut } from '../../src/core/wrap.ts';
import { element } from '../shared/element.ts';
import { number } from '../shared/format.ts';

/** Characters of a segment's text that a card shows; the trajectory shows all. */
const TEXT_LIMIT = 700;

/** Nothing where there is no text. */
export const textPart = ({ text }: Pick<Segment, 'text'>): Node[] =>
  text === '' ? [] : [element('pre', {}, cut(text, TEXT_LIMIT))];

/** Nothing where the path was not judged. */
export function rewardPart(tree: Tree, path: number): Node[] {
  const reward = tree.paths[path]?.reward;
  if (!reward) return [];
  const parts = Object.entries(reward.parts).map(([term, value]) => ({ term, value: number(value) }));
  return [
    element('h2', {}, `Reward ${number(reward.total)}`),
    element('p', {}, reward.reason),
    ...(parts.length > 0 ? [lines(parts)] : []),
  ];
}

export const lines = (all: readonly Line[]): HTMLElement =>
  element(
    'dl',
    {},
    ...all.flatMap(({ term, value, meaning }) => [
      element('dt', { title: meaning }, term),
      element('dd', { title: meaning }, value),
    ]),
  );
