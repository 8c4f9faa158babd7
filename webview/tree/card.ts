/** The card beside the tree: every number of the chosen decision and segment, and of a pinned one. Knows nothing of the drawing. */
import { decisionLines, formula, OUTCOMES, verdict, type Around, type Line } from '../../src/core/explain.ts';
import { pathsThrough } from '../../src/core/tree.ts';
import type { Decision, Tree } from '../../src/core/types.ts';
import { element } from '../shared/element.ts';
import { number, shorten } from '../shared/format.ts';
import { segmentLines, segmentName, valueSentence } from './explain.ts';
import type { Selection } from './walk.ts';

/** Characters of a segment's text that the card shows; the trajectory shows all. */
const TEXT_LIMIT = 700;

/** What the card is about. */
export interface Shown {
  tree: Tree;
  selection: Selection;
  pinned?: Selection | undefined;
  around: Around;
}

/** Something to do with a segment of a written tree. */
export interface Action {
  label: string;
  meaning: string;
  name: string;
  /** Whether it needs nothing but the tree: the others need the run's policy and tools. */
  isForImported?: boolean;
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
      const next = element('div', {}, ...part(selection), held);
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
  const buttons =
    paths.length > 0 && (tree.credit || tree.imported)
      ? [
          element(
            'div',
            { class: 'actions' },
            ...actions
              .filter(action => action.isForImported || !tree.imported)
              .map(action =>
                element(
                  'vscode-button',
                  { class: action.name, title: action.meaning, onclick: () => action.act(paths[0]!, index) },
                  action.label,
                ),
              ),
          ),
        ]
      : [];
  return [
    element('h2', {}, heading[0]!.toUpperCase() + heading.slice(1)),
    lines(segmentLines(tree, index, paths)),
    ...(asked?.argument ? [element('p', { class: 'quiet' }, shorten(asked.argument, 200))] : []),
    ...(segment.text ? [element('pre', {}, cut(segment.text))] : []),
    ...ends.flatMap(path => reason(tree, path)),
    ...buttons,
  ];
}

const cut = (text: string): string => (text.length > TEXT_LIMIT ? `${text.slice(0, TEXT_LIMIT)}…` : text);

function reason(tree: Tree, path: number): Node[] {
  const reward = tree.paths[path]?.reward;
  if (!reward) return [];
  const parts = Object.entries(reward.parts).map(([name, value]) => ({ term: name, value: number(value) }));
  return [
    element('h2', {}, `Reward ${number(reward.total)}`),
    element('p', {}, reward.reason),
    ...(parts.length > 0 ? [lines(parts)] : []),
  ];
}

function lines(all: readonly Line[]): HTMLElement {
  return element(
    'dl',
    {},
    ...all.flatMap(({ term, value, meaning }) => [
      element('dt', { title: meaning }, term),
      element('dd', { title: meaning }, value),
    ]),
  );
}
