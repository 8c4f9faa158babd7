/** The trajectories of a tree as a row of tabs. Knows nothing of what a tab opens. */
import { counted } from '../../src/core/figures.ts';
import type { Tree } from '../../src/core/types.ts';
import { element } from '../shared/element.ts';
import { number, spoken } from '../shared/format.ts';

/** Puts the tabs of a tree into their list; `found` are those that were looked for. */
export function drawTabs(
  tabs: HTMLElement,
  { tree, path }: { tree: Tree; path: number },
  found: ReadonlySet<number>,
  go: (path: number) => void,
): void {
  const hadFocus = tabs.contains(document.activeElement);
  const count = tree.paths.length;
  tabs.replaceChildren(
    ...tree.paths.map((_, index) => {
      const label = labelOf(tree, index, found.has(index));
      return element(
        'button',
        {
          role: 'tab',
          class: found.has(index) ? 'path found' : 'path',
          'aria-selected': index === path ? 'true' : 'false',
          'aria-label': label,
          title: label,
          tabindex: index === path ? 0 : -1,
          onclick: () => go(index),
          onkeydown: event => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[(event as KeyboardEvent).key];
            if (step === undefined) return;
            event.preventDefault();
            go((path + step + count) % count);
          },
        },
        textOf(tree, index),
      );
    }),
  );
  const chosen = tabs.querySelector<HTMLElement>('[aria-selected="true"]');
  chosen?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  if (hadFocus) chosen?.focus();
}

/** `↳4 ✓ 1`: a branch, right, reward 1. */
function textOf({ paths }: Tree, index: number): string {
  const { from, reward } = paths[index]!;
  const name = `${from === undefined ? '' : '↳'}${index}`;
  return reward === undefined ? name : `${name} ${reward.correct ? '✓' : '✗'} ${number(reward.total)}`;
}

function labelOf({ paths }: Tree, index: number, isFound: boolean): string {
  const { from, reward, calls, stop } = paths[index]!;
  return [
    `Trajectory ${index}`,
    reward === undefined ? 'not judged' : `reward ${spoken(reward.total)}`,
    ...(reward === undefined ? [] : [reward.correct ? 'right' : 'wrong']),
    counted(calls, 'tool call'),
    stop === undefined ? 'its end is not logged' : `ended by ${stop}`,
    ...(from === undefined ? [] : [`branch of ${from.path}`]),
    ...(isFound ? ['found'] : []),
  ].join(', ');
}
