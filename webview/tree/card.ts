/** The card beside the tree: every number of the chosen decision and segment. Knows nothing of the drawing. */
import { decisionLines, formula, verdict, type Line } from '../../src/core/explain.ts';
import { pathsThrough } from '../../src/core/tree.ts';
import type { Decision, Tree } from '../../src/core/types.ts';
import { element } from '../shared/element.ts';
import { number, shorten, signed } from '../shared/format.ts';
import type { Selection } from './drawing.ts';
import { segmentLines, segmentName } from './explain.ts';

/** Characters of a segment's text that the card shows; the trajectory shows all. */
const TEXT_LIMIT = 700;

export function card(open: (path: number, segment: number) => void): {
  root: HTMLElement;
  show(tree: Tree, selection: Selection): void;
} {
  const root = element('aside', { class: 'card', 'aria-live': 'polite', 'aria-label': 'Details' });
  const show = (tree: Tree, { segment, decision }: Selection): void => {
    const chosen = decision === undefined ? undefined : tree.decisions[decision];
    root.replaceChildren(...(chosen ? decisionPart(tree, chosen) : []), ...segmentPart(tree, segment, open));
  };
  return { root, show };
}

function decisionPart(tree: Tree, decision: Decision): Node[] {
  const heading = {
    branch: 'Branch made',
    refuse: 'Branch refused',
    budget: 'No budget left',
    length: 'No tokens left',
  }[decision.outcome];
  const value = branchValue(tree, decision);
  return [
    element('h2', { class: `outcome ${decision.outcome}` }, heading),
    element('p', { class: 'verdict' }, verdict(decision)),
    element('p', { class: 'formula' }, formula(decision)),
    lines(decisionLines(decision)),
    ...(value ? [element('p', {}, value)] : []),
  ];
}

/** What the branch was worth: its reward against that of the trajectory that it left. */
function branchValue(tree: Tree, { child, path }: Decision): string | undefined {
  if (child === undefined) return undefined;
  const [own, left] = [tree.paths[child]?.reward?.total, tree.paths[path]?.reward?.total];
  if (own === undefined || left === undefined) return undefined;
  return `The branch earned ${number(own)}, the trajectory that it left ${number(left)}: ${signed(own - left)}.`;
}

function segmentPart(tree: Tree, index: number, open: (path: number, segment: number) => void): Node[] {
  const segment = tree.segments[index];
  if (!segment) return [];
  const paths = pathsThrough(tree)[index]!;
  const ends = paths.filter(path => tree.paths[path]!.leaf === index);
  const heading = segmentName(segment);
  return [
    element('h2', {}, heading[0]!.toUpperCase() + heading.slice(1)),
    lines(segmentLines(tree, index, paths)),
    ...(segment.call ? [element('p', { class: 'quiet' }, shorten(segment.call.argument, 200))] : []),
    ...(segment.text
      ? [
          element(
            'pre',
            {},
            segment.text.length > TEXT_LIMIT ? `${segment.text.slice(0, TEXT_LIMIT)}…` : segment.text,
          ),
        ]
      : []),
    ...ends.flatMap(path => reason(tree, path)),
    ...(paths.length > 0 && tree.credit
      ? [
          element(
            'vscode-button',
            { class: 'open-text', onclick: () => open(paths[0]!, index) },
            'Open as Text',
          ),
        ]
      : []),
  ];
}

function reason(tree: Tree, path: number): Node[] {
  const reward = tree.paths[path]?.reward;
  if (!reward) return [];
  const parts = Object.entries(reward.parts).map(([name, value]) => ({ term: name, value: number(value) }));
  return [element('h2', {}, `Reward ${number(reward.total)}`), element('p', {}, reward.reason), lines(parts)];
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
