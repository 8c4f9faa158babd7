/** The rollout tree of one task in one step: what was grown, where it branched, and why. Knows nothing of files or workers. */
import type { Event } from '../../src/core/events.ts';
import type { ViewSubject } from '../../src/protocol/verbs.ts';
import type { Tree } from '../../src/core/types.ts';
import { element } from '../shared/element.ts';
import { joinHost, keepState, report } from '../shared/host.ts';
import { shorten } from '../shared/format.ts';
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
/** The segment that the subject named last. */
let asked: number | undefined;
let asking = false;
let stale = false;

const host = joinHost({
  events: ({ events }) => {
    if (events.some(event => concerns(event))) refresh();
  },
  show(subject) {
    keepState(subject);
    go(subject);
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
    go(subject);
  }),
);
window.addEventListener('resize', () => tree && draw());

function concerns(event: Event): boolean {
  return 'tree' in event && event.tree === id;
}

/** Shows another tree, or another segment of the same; being told the same again changes nothing. */
function go({ tree: next, segment }: ViewSubject): void {
  const isKnown = segment === undefined || segment === asked;
  asked = segment;
  if (next !== undefined && next !== id) {
    id = next;
    tree = undefined;
    selection = segment === undefined ? undefined : { segment };
    refresh();
  } else if (!isKnown) choose({ segment });
}

/** Asks for the tree again; what arrives meanwhile asks once more. */
function refresh(): void {
  if (asking) {
    stale = true;
    return;
  }
  asking = true;
  const wanted = id;
  report(
    host
      .tree(wanted)
      .then(answer => {
        if (wanted === id) {
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
  const entry = (swatches: readonly string[], meaning: string): HTMLElement =>
    element(
      'span',
      {},
      ...swatches.map(name => element('span', { class: `swatch ${name}`, 'aria-hidden': true })),
      meaning,
    );
  return element(
    'p',
    { class: 'quiet legend' },
    entry(['e1'], 'certain'),
    entry(['e4', 'e7'], 'uncertain: entropy of a turn’s first tokens, up to the tree’s highest'),
    entry(['tool'], 'tool text, not trained'),
    entry(['ghost'], 'branch refused'),
    entry(['taken'], 'branch made'),
  );
}
