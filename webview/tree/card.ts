/** The card beside the tree: every number of the chosen decision and segment, and of a pinned one. Knows nothing of the drawing. */
import { decisionLines, formula, OUTCOMES, verdict, type Around } from '../../src/core/explain.ts';
import { pathsThrough } from '../../src/core/tree.ts';
import type { Decision, Tree } from '../../src/core/types.ts';
import { shorten } from '../../src/core/wrap.ts';
import { element } from '../shared/element.ts';
import { segmentLines, segmentName, valueSentence } from './explain.ts';
import { lines, rewardPart, textPart } from './parts.ts';
import type { Selection } from './walk.ts';

/** What the card is about. */
export interface Shown {
  tree: Tree;
  selection: Selection;
  pinned?: Selection | undefined;
  around: Around;
}

/** Something to do with a segment of a tree. */
export interface Action {
  label: string;
  meaning: string;
  name: string;
  /** Whether it needs a tree that is written, and the policy and tools of its run. */
  needsPolicy: boolean;
  /** Whether it needs a second trajectory. */
  needsSibling?: boolean;
  act(path: number, segment: number): void;
}

export interface Card {
  root: HTMLElement;
  show(shown: Shown): void;
}

/** `other`: the card of what is not a part of the tree; undefined for what is. */
export function card(
  actions: readonly Action[],
  other: (about: Selection) => Node[] | undefined = () => undefined,
): Card {
  const root = element('aside', { class: 'card', 'aria-live': 'polite', 'aria-label': 'Details' });
  return {
    root,
    show({ tree, selection, pinned, around }) {
      const part = (about: Selection): Node[] =>
        other(about) ?? [...decisionPart(tree, about, around), ...segmentPart(tree, about.segment, actions)];
      const held =
        pinned && element('section', { class: 'held' }, element('h3', {}, 'Pinned'), ...part(pinned));
      // Two segments may read the same, but their buttons do not do the same.
      const about = JSON.stringify([tree.id, selection, pinned]);
      const next = element('div', { 'data-about': about }, ...part(selection), held);
      // A fact that changes nothing here neither moves the reader's place nor is read out.
      if (root.firstElementChild?.isEqualNode(next)) return;
      root.replaceChildren(next);
    },
  };
}

function decisionPart(tree: Tree, { decision: index }: Selection, around: Around): Node[] {
  const decision: Decision | undefined = index === undefined ? undefined : tree.decisions[index];
  if (!decision) return [];
  const value = valueSentence(tree, decision);
  return [
    element('h2', { class: `outcome ${decision.outcome}` }, OUTCOMES[decision.outcome].heading),
    element('p', { class: 'verdict' }, verdict(decision)),
    element('p', { class: 'formula' }, formula(decision)),
    lines(decisionLines(decision, around)),
    ...(value === undefined ? [] : [element('p', { class: 'value' }, value)]),
  ];
}

function segmentPart(tree: Tree, index: number, actions: readonly Action[]): Node[] {
  const segment = tree.segments[index];
  if (!segment) return [];
  const paths = pathsThrough(tree)[index]!;
  const ends = paths.filter(path => tree.paths[path]!.leaf === index);
  const heading = segmentName(segment);
  const asked = segment.call ?? segment.asked;
  const offered = actions.filter(
    ({ needsPolicy, needsSibling }) =>
      (!needsPolicy || tree.credit || tree.isDropped) && (!needsSibling || tree.paths.length > 1),
  );
  const buttons =
    paths.length === 0
      ? []
      : offered.map(({ name, label, meaning, act }, i) =>
          element(
            'vscode-button',
            {
              ...{ class: name, title: meaning, onclick: () => act(paths[0]!, index) },
              // One thing is the next to do; the others do not shout beside it.
              ...(i > 0 && { appearance: 'secondary' }),
            },
            label,
          ),
        );
  return [
    element('h2', {}, heading[0]!.toUpperCase() + heading.slice(1)),
    lines(segmentLines(tree, index, paths)),
    ...(asked?.argument ? [element('p', { class: 'quiet' }, shorten(asked.argument, 200))] : []),
    ...textPart(segment),
    ...ends.flatMap(path => rewardPart(tree, path)),
    ...(buttons.length > 0 ? [element('div', { class: 'actions' }, ...buttons)] : []),
  ];
}
