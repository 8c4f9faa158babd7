/** Buttons and keys that lead to the trees around this one. Knows nothing of what a tree is like. */
import type { Neighbours, Way } from '../../src/core/neighbours.ts';
import { shorten } from '../../src/core/wrap.ts';
import { element } from '../shared/element.ts';
import { spoken } from '../shared/format.ts';

const WAYS: Record<Way, { sign: string; key: string; where: string; nowhere: string }> = {
  previousStep: {
    sign: '«',
    key: '<',
    where: 'Same task in an earlier step',
    nowhere: 'This task was in no earlier step',
  },
  previousTree: {
    sign: '‹',
    key: '{',
    where: 'Previous tree of the step',
    nowhere: 'First tree of the step',
  },
  nextTree: { sign: '›', key: '}', where: 'Next tree of the step', nowhere: 'Last tree of the step' },
  nextStep: {
    sign: '»',
    key: '>',
    where: 'Same task in a later step',
    nowhere: 'This task was in no later step',
  },
};

export interface Steps {
  root: HTMLElement;
  show(neighbours: Neighbours): void;
  /** True where the key led somewhere. */
  key(key: string): boolean;
}

export function stepNavigation(go: (id: string) => void): Steps {
  const names = Object.keys(WAYS) as Way[];
  let known: Neighbours = { ways: {}, place: 0, count: 0 };
  const follow = (way: Way): boolean => {
    const tree = known.ways[way];
    if (tree) go(tree.id);
    return tree !== undefined;
  };
  const buttons = names.map(way =>
    element(
      'button',
      { type: 'button', class: 'plain', 'data-way': way, onclick: () => follow(way) },
      WAYS[way].sign,
    ),
  );
  const place = element('span', { class: 'quiet place' });
  return {
    root: element(
      'div',
      { class: 'ways', role: 'toolbar', 'aria-label': 'Other trees' },
      ...buttons.slice(0, 2),
      place,
      ...buttons.slice(2),
    ),
    show(next) {
      known = next;
      place.textContent = next.count > 0 ? `tree ${next.place} of ${next.count}` : '';
      buttons.forEach((button, i) => {
        const { where, nowhere, key } = WAYS[names[i]!];
        const tree = next.ways[names[i]!];
        const name = tree
          ? `${where} (${key}): step ${tree.step}, reward ${spoken(tree.reward)}, ${shorten(tree.question, 60)}`
          : nowhere;
        button.disabled = !tree;
        button.title = name;
        button.setAttribute('aria-label', name);
      });
    },
    key(key) {
      const way = names.find(name => WAYS[name].key === key);
      return way !== undefined && follow(way);
    },
  };
}
