/** The keys of the tree, as a dialog. Knows nothing of what they do. */
import { element } from '../shared/element.ts';

const KEYS: readonly (readonly [keys: string, meaning: string])[] = [
  ['→ ←', 'on along the trajectory, its questions included, and back'],
  ['↓ ↑', 'to the trajectory below or above'],
  ['n p', 'to the next or the previous step, past the questions'],
  ['] [', 'to the next or the previous branch of the same place'],
  ['b', 'to the question that made this branch'],
  ['Home End', 'to the prompt, to the last step'],
  ['Enter', 'open as text; open a folded run of steps'],
  ['Space', 'pin to the card, to compare; again to let go'],
  ['} {', 'to the next or the previous tree of the step'],
  ['> <', 'to the same task in a later or an earlier step'],
  ['+ − 0', 'zoom in, out, and back; Ctrl + wheel zooms where the pointer is, a drag moves'],
  ['?', 'this list'],
];

export function help(): { root: HTMLDialogElement; show(): void } {
  const close = element('button', { type: 'button', class: 'plain', onclick: () => root.close() }, 'Close');
  const root = element(
    'dialog',
    { class: 'help', 'aria-label': 'Keys of the rollout tree' },
    element('h2', {}, 'Keys'),
    element(
      'dl',
      {},
      ...KEYS.flatMap(([keys, meaning]) => [
        element(
          'dt',
          {},
          ...keys.split(' ').flatMap((key, i) => [i > 0 ? ' ' : undefined, element('kbd', {}, key)]),
        ),
        element('dd', {}, meaning),
      ]),
    ),
    close,
  );
  root.addEventListener('keydown', event => {
    if (event.key === '?') root.close();
  });
  return { root, show: () => root.showModal() };
}
