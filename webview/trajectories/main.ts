/** The editor of trees.jsonl: its trees, what to look for among them, and the chosen trajectory. Knows nothing of files. */
import { counted } from '../../src/core/figures.ts';
import type { TrajectoryMatch, TrajectoryQuery } from '../../src/core/trajectorySearch.ts';
import { isEmpty } from '../../src/core/trajectorySearch.ts';
import type { Tree } from '../../src/core/types.ts';
import { shorten } from '../../src/core/wrap.ts';
import type {
  TrajectoriesHostVerbs,
  TrajectoriesViewVerbs,
  TreeListing,
  TreeRow,
} from '../../src/protocol/verbs.ts';
import { element } from '../shared/element.ts';
import { decimals, number, percent } from '../shared/format.ts';
import { joinHost, keepState, keptState, report } from '../shared/host.ts';
import { registerKit } from '../shared/kit.ts';
import { filters } from './filters.ts';
import { Reader } from './reader.ts';
import { VirtualList } from './virtualList.ts';
import '../shared/shared.css';
import './trajectories.css';

registerKit();

/** Rows are asked for in blocks of so many. */
const BLOCK = 100;
const ROW_HEIGHT = 46;

interface Kept {
  query?: TrajectoryQuery;
  tree?: string;
  path?: number;
}

const kept = (keptState() ?? {}) as Kept;
const rows = new Map<number, TreeRow>();
const asked = new Set<number>();
/** Counts the lists: rows of an older one are not believed. */
let generation = 0;
let listing: TreeListing = { rows: 0, trees: 0, share: 0 };
let tree: Tree | undefined;
let path = kept.path ?? 0;
let wantedTree: { id: string; matches: readonly TrajectoryMatch[] } | undefined;
let isLoading = false;
/** What the list said last of why there is not more of it. */
let toldProblem: string | undefined;
/** The tree that was read before a reload is read again; whatever is looked for later begins with its first. */
let isRestored = kept.tree !== undefined;

const host = joinHost<TrajectoriesHostVerbs, TrajectoriesViewVerbs>({
  listed(next, isNew) {
    listing = next;
    if (isNew) {
      generation++;
      rows.clear();
      asked.clear();
      list.choose(-1);
    }
    list.show(listing.rows);
    drawStatus();
  },
});

const looking = filters(
  () => lookAgain(),
  () => list.focus(),
);
const status = element('span', { class: 'quiet', role: 'status' });
const filled = element('div');
const bar = element(
  'div',
  { class: 'bar', role: 'progressbar', 'aria-label': 'Looked through', hidden: true },
  filled,
);
const cancel = element(
  'button',
  { class: 'link', hidden: true, onclick: () => report(host.stopFinding()) },
  'Cancel',
);
const plainText = element(
  'button',
  { class: 'link', hidden: true, onclick: () => report(host.openPlainText()) },
  'Open as Plain Text',
);
const nothing = element('p', { class: 'quiet nothing', hidden: true }, 'No trajectory is like that.');
const failure = element('div', { class: 'failure', id: 'failure', role: 'alert', hidden: true });
const list = new VirtualList({
  label: 'Trees',
  rowHeight: ROW_HEIGHT,
  fill: fillRow,
  wanted,
  chosen(index, by) {
    const row = rows.get(index);
    if (row !== undefined) open(row.id, row.matches ?? []);
    if (by === 'enter') text.focus();
  },
  key: onKey,
});
const text = new Reader({
  openText: (chosen, segment) => tree && report(host.openTrajectory(tree.id, chosen, segment)),
  openTree: (chosen, segment) => tree && report(host.openTree(tree.id, chosen, segment)),
  compare: chosen => tree && report(host.compare(tree.id, chosen)),
  samePrompt() {
    const row = [...rows.values()].find(({ id }) => id === tree?.id);
    const prompt = row?.question ?? tree?.task.question;
    if (prompt === undefined) return;
    looking.set({ ...looking.query, prompt });
    lookAgain();
  },
  moved(next) {
    path = next;
    keep();
  },
  key: onKey,
});
document.body.append(
  element(
    'main',
    {},
    element(
      'header',
      { class: 'top' },
      looking.root,
      element('div', { class: 'state' }, status, bar, cancel),
    ),
    failure,
    plainText,
    element('div', { class: 'split' }, element('div', { class: 'pane' }, list.root, nothing), text.root),
  ),
);
document.addEventListener('keydown', event => {
  if (event.key !== 'Escape' || !looking.root.contains(document.activeElement)) return;
  list.focus();
});
report(start());

async function start(): Promise<void> {
  try {
    const { name, tools } = await host.ready();
    document.title = `Trajectories of ${name}`;
    looking.offerTools(tools);
    if (kept.query !== undefined && !isEmpty(kept.query)) {
      looking.set(kept.query);
      await find();
    }
    if (kept.tree !== undefined) open(kept.tree, []);
  } catch (error) {
    plainText.hidden = false;
    throw error;
  }
}

/** The reader asks for another list. */
function lookAgain(): void {
  isRestored = false;
  report(find());
}

function find(): Promise<void> {
  keep();
  return host.find(looking.query);
}

const keep = (): void =>
  keepState({ query: looking.query, ...(tree && { tree: tree.id, path }) } satisfies Kept);

/** Keys that work in both lists. */
function onKey(event: KeyboardEvent): boolean {
  if (event.key === '/') looking.focus();
  else if (event.key === 'Escape') list.focus();
  else return false;
  return true;
}

/** Asks for the blocks that come into sight and are not there. */
function wanted(from: number, to: number): void {
  for (let block = Math.floor(from / BLOCK); block * BLOCK < to; block++) {
    const first = block * BLOCK;
    const last = Math.min(listing.rows, first + BLOCK) - 1;
    if (asked.has(block) || (rows.has(first) && rows.has(last))) continue;
    asked.add(block);
    report(load(block, generation));
  }
}

async function load(block: number, of: number): Promise<void> {
  const got = await host.rows(block * BLOCK, BLOCK).finally(() => of === generation && asked.delete(block));
  if (of !== generation) return;
  got.forEach((row, i) => rows.set(block * BLOCK + i, row));
  list.refill();
  if (block === 0 && list.index < 0 && !isRestored) chooseFirst(got);
}

/** Something to read at once: the tree that was read before, where it is on the new list, else the first. */
function chooseFirst(got: readonly TreeRow[]): void {
  const index = Math.max(
    0,
    got.findIndex(({ id }) => id === tree?.id),
  );
  const row = got[index];
  if (row === undefined) return;
  list.choose(index);
  open(row.id, row.matches ?? []);
}

/** Reads a tree; of those that are asked for meanwhile only the last is read too. */
function open(id: string, matches: readonly TrajectoryMatch[]): void {
  wantedTree = { id, matches };
  if (!isLoading) report(read());
}

async function read(): Promise<void> {
  isLoading = true;
  try {
    while (wantedTree !== undefined) {
      const { id, matches } = wantedTree;
      wantedTree = undefined;
      const isOther = tree?.id !== id;
      if (isOther) {
        const next = await host.tree(id);
        if (tree !== undefined || path >= next.paths.length) path = 0;
        tree = next;
      }
      if (tree === undefined) return;
      if (matches.length > 0 && !matches.some(match => match.path === path)) path = matches[0]!.path;
      text.show(tree, path, matches, looking.query.text ?? '');
      keep();
    }
  } finally {
    isLoading = false;
  }
}

function fillRow(element: HTMLElement, index: number): void {
  const row = rows.get(index);
  element.className = 'row tree';
  if (row === undefined) {
    element.setAttribute('aria-label', 'Loading');
    element.replaceChildren('…');
    return;
  }
  const { question, step, id } = row;
  const facts = [
    row.reward === undefined ? 'not judged' : `R ${decimals(row.reward)}`,
    row.matches !== undefined && row.matches.length > 0
      ? `${row.matches.length} of ${row.paths} found`
      : `${row.paths} trajectories${row.branches === undefined ? '' : `, ${row.branches} branched, ${row.refused ?? 0} refused`}`,
  ];
  element.setAttribute('aria-label', `Step ${step}, tree ${id}, ${question}, ${facts.join(', ')}`);
  element.title = question;
  const excerpt = row.matches?.find(match => match.excerpt !== undefined)?.excerpt;
  element.replaceChildren(
    line('question', shorten(question, 200)),
    line('facts', `step ${step} · ${id} · ${facts.join(' · ')}`, excerpt),
  );
}

function line(name: string, content: string, excerpt?: string): HTMLElement {
  return element(
    'div',
    { class: name },
    content,
    excerpt === undefined ? undefined : element('span', { class: 'excerpt' }, ` · ${excerpt}`),
  );
}

function drawStatus(): void {
  const { rows: shown, trees, found, share, problem } = listing;
  const isDone = share >= 1;
  const all = counted(trees, 'tree');
  const what =
    found === undefined
      ? all
      : `${counted(found, 'trajectory', 'trajectories')} in ${number(shown)} of ${all}`;
  const doing = found === undefined ? 'reading' : 'searching';
  status.textContent = isDone
    ? trees === 0
      ? 'No tree yet: the run’s first step is under way.'
      : what
    : `${what} · ${doing} ${percent(share)}`;
  bar.hidden = isDone;
  bar.setAttribute('aria-valuenow', String(Math.round(100 * share)));
  filled.style.width = `${100 * share}%`;
  cancel.hidden = isDone || found === undefined;
  nothing.hidden = !isDone || shown > 0 || trees === 0;
  // A failure of something else stays.
  if (problem === toldProblem) return;
  toldProblem = problem;
  failure.textContent = problem ?? '';
  failure.hidden = problem === undefined;
}
