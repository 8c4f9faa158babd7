/** The way from a tree to its neighbours: others of its step, and the same task in other steps. Knows nothing of what a tree is like. */
import type { HostVerbs } from '../../src/protocol/verbs.ts';
import { element } from '../shared/element.ts';
import { number, shorten } from '../shared/format.ts';

export type Listed = ReturnType<HostVerbs['trees']>[number];

export type Way = 'previousTree' | 'nextTree' | 'previousStep' | 'nextStep';

/** What lies around a tree; a way that leads nowhere is absent. `place` counts the step's trees from 1. */
export interface Around {
  ways: Partial<Record<Way, Listed>>;
  place: number;
  count: number;
}

/** Trees in the order of their steps. Of the same task in one step, the first. */
export function around(trees: readonly Listed[], id: string): Around {
  const here = trees.find(tree => tree.id === id);
  if (!here) return { ways: {}, place: 0, count: 0 };
  const own = trees.filter(({ step }) => step === here.step);
  const at = own.indexOf(here);
  const same = trees.filter(({ question }) => question === here.question);
  const earlier = same.findLast(({ step }) => step < here.step);
  const found: Record<Way, Listed | undefined> = {
    previousTree: own[at - 1],
    nextTree: own[at + 1],
    previousStep: earlier && same.find(({ step }) => step === earlier.step),
    nextStep: same.find(({ step }) => step > here.step),
  };
  const ways = Object.entries(found).filter(([, tree]) => tree !== undefined);
  return { ways: Object.fromEntries(ways) as Around['ways'], place: at + 1, count: own.length };
}

const WAYS: Record<Way, { sign: string; key: string; where: string; nowhere: string }> = {
  previousStep: {
    sign: '«',
    key: '<',
    where: 'Same task in an earlier step',
    nowhere: 'This task was in no earlier step',
  },
  previousTree: { sign: '‹', key: '{', where: 'Previous tree of the step', nowhere: 'First tree of the step' },
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
  show(around: Around): void;
  /** True where the key led somewhere. */
  key(key: string): boolean;
}

export function stepNavigation(go: (id: string) => void): Steps {
  const names = Object.keys(WAYS) as Way[];
  let known: Around = { ways: {}, place: 0, count: 0 };
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
          ? `${where} (${key}): step ${tree.step}, reward ${number(tree.reward)}, ${shorten(tree.question, 60)}`
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
