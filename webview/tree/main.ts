/** The rollout tree of one task in one step: what was grown, where it branched, and why. Knows nothing of files or workers. */
import type { Event } from '../../src/core/events.ts';
import type { Tree } from '../../src/core/types.ts';
import { element } from '../shared/element.ts';
import { joinHost, keepState, report } from '../shared/host.ts';
import { number, shorten } from '../shared/format.ts';
import { registerKit } from '../shared/kit.ts';
import { card } from './card.ts';
import { drawing, type Selection } from './drawing.ts';
import '../shared/shared.css';
import './tree.css';

registerKit();

let tree: Tree | undefined;
let id = '';
let credit: 'soft' | 'hard' = 'soft';
let selection: Selection | undefined;
let asking = false;
let stale = false;

const host = joinHost({
  events: ({ events }) => {
    if (events.some(event => concerns(event))) refresh();
  },
  show(subject) {
    keepState(subject);
    if (subject.tree !== undefined && subject.tree !== id) open(subject.tree);
  },
});

const title = element('h1');
const facts = element('p', { class: 'quiet' });
const picture = drawing({
  select: chosen => choose(chosen),
  open: (path, segment) => report(host.openTrajectory(id, path, segment)),
});
const details = card((path, segment) => report(host.openTrajectory(id, path, segment)));
document.body.append(
  element(
    'main',
    {},
    element('header', {}, element('div', { class: 'title' }, title, creditChoice()), facts, legend()),
    element('div', { class: 'failure', id: 'failure', role: 'alert', hidden: true }),
    element('div', { class: 'split' }, picture.root, details.root),
  ),
);
report(
  host.ready().then(({ subject }) => {
    keepState(subject);
    if (subject.tree !== undefined) open(subject.tree);
  }),
);
window.addEventListener('resize', () => tree && draw());

function concerns(event: Event): boolean {
  return 'tree' in event && event.tree === id;
}

function open(next: string): void {
  id = next;
  tree = undefined;
  selection = undefined;
  refresh();
}

/** Asks for the tree again; what arrives meanwhile asks once more. */
function refresh(): void {
  if (asking) {
    stale = true;
    return;
  }
  asking = true;
  const asked = id;
  report(
    host
      .tree(asked)
      .then(answer => {
        if (asked === id) {
          tree = answer;
          draw();
        }
      })
      .finally(() => {
        asking = false;
        if (stale) {
          stale = false;
          refresh();
        }
      }),
  );
}

function draw(): void {
  if (!tree) return;
  const taken = tree.decisions.filter(({ outcome }) => outcome === 'branch').length;
  const refused = tree.decisions.filter(({ outcome }) => outcome === 'refuse').length;
  const filled = tree.paths.filter(({ origin }) => origin === 'fill').length;
  title.textContent = `Step ${tree.step} · ${shorten(tree.task.question, 120)}`;
  facts.textContent = [
    `${tree.paths.length} of ${tree.total} trajectories, ${tree.initial} from the prompt`,
    `${taken} branched · ${refused} refused · ${filled} filled`,
    `rule ${tree.rule}`,
    `expected ${tree.task.references.join(' or ')}`,
    tree.credit ? `update used ${tree.credit.used} credit` : 'still growing',
  ].join(' · ');
  selection ??= firstChoice(tree);
  picture.draw(tree, credit, selection);
  details.show(tree, selection);
}

function choose(chosen: Selection): void {
  selection = chosen;
  if (!tree) return;
  picture.select(chosen);
  details.show(tree, chosen);
}

/** What a reader came for: why a branch was refused, else why one was made. */
function firstChoice({ decisions }: Tree): Selection {
  const wanted = decisions.findIndex(({ outcome }) => outcome === 'refuse');
  const decision = wanted >= 0 ? wanted : decisions.findIndex(({ outcome }) => outcome === 'branch');
  return decision >= 0 ? { segment: decisions[decision]!.segment, decision } : { segment: 0 };
}

function creditChoice(): HTMLElement {
  const option = (value: 'soft' | 'hard', meaning: string): HTMLElement =>
    element('vscode-radio', { value, title: meaning, checked: value === credit }, value);
  const group = element(
    'vscode-radio-group',
    { 'aria-label': 'Credit that the badges show', id: 'credit' },
    element('label', { slot: 'label' }, 'Credit'),
    option('soft', 'The trajectory’s own advantage.'),
    option('hard', 'The mean advantage of the trajectories through the segment.'),
  );
  group.addEventListener('change', event => {
    const value = (event.target as HTMLInputElement).value;
    credit = value === 'hard' ? 'hard' : 'soft';
    if (tree) picture.draw(tree, credit, selection);
  });
  return group;
}

function legend(): HTMLElement {
  const swatch = (name: string): HTMLElement =>
    element('span', { class: `swatch ${name}`, 'aria-hidden': true });
  return element(
    'p',
    { class: 'quiet legend' },
    swatch('e1'),
    'certain ',
    swatch('e4'),
    swatch('e7'),
    `uncertain (entropy of a turn’s first tokens, ${number(0)} to the tree’s highest) `,
    swatch('tool'),
    'tool text, not trained ',
    swatch('ghost'),
    'branch refused ',
    swatch('taken'),
    'branch made',
  );
}
