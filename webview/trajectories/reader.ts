/** The chosen trajectory: its numbers, its siblings, its transcript. Knows nothing of lists, files or the host. */
import { counted } from '../../src/core/figures.ts';
import type { TrajectoryMatch } from '../../src/core/trajectorySearch.ts';
import type { Tree } from '../../src/core/types.ts';
import { shorten } from '../../src/core/wrap.ts';
import { element } from '../shared/element.ts';
import { number, signed } from '../shared/format.ts';
import { labelOf, type Line, nextHeading, transcript } from './lines.ts';
import { drawTabs } from './pathTabs.ts';
import { VirtualList } from './virtualList.ts';

export interface ReaderActions {
  openText(path: number, segment?: number): void;
  openTree(path: number, segment?: number): void;
  compare(path: number): void;
  samePrompt(): void;
  /** The path that is shown now. */
  moved(path: number): void;
  /** A key that the reader does not know; true where it was used. */
  key(event: KeyboardEvent): boolean;
}

/** What is shown; `text` is what was looked for. */
interface Shown {
  tree: Tree;
  path: number;
  matches: readonly TrajectoryMatch[];
  text: string;
}

/** Shorter lines are not wrapped further, however narrow the window. */
const NARROWEST = 40;
const WIDEST = 160;

export class Reader {
  readonly root: HTMLElement;
  readonly #actions: ReaderActions;
  readonly #title = element('h1');
  readonly #facts = element('p', { class: 'quiet' });
  readonly #reason = element('p', { class: 'quiet' });
  readonly #tabs = element('div', {
    class: 'paths',
    role: 'tablist',
    'aria-label': 'Trajectories of the tree',
  });
  readonly #list: VirtualList;
  #shown: Shown | undefined;
  #lines: Line[] = [];
  #width = 0;

  constructor(actions: ReaderActions) {
    this.#actions = actions;
    this.#list = new VirtualList({
      label: 'Transcript',
      rowHeight: lineHeight(),
      fill: (row, index) => fillLine(row, this.#lines[index]!, this.#shown?.text ?? ''),
      chosen: (_, by) => by === 'enter' && this.#openText(),
      key: event => this.#onKey(event),
    });
    new ResizeObserver(() => this.#wrapAgain()).observe(this.#list.root);
    const head = element('header', {}, this.#title, this.#facts, this.#reason, this.#tabs, this.#buttons());
    this.root = element(
      'section',
      { class: 'reader blank', 'aria-label': 'Trajectory' },
      element('p', { class: 'quiet empty' }, 'Choose a tree to read its trajectories.'),
      head,
      this.#list.root,
    );
  }

  /** Begins at the segment that was found, where there is one. */
  show(tree: Tree, path: number, matches: readonly TrajectoryMatch[], text: string): void {
    this.root.classList.remove('blank');
    this.#shown = { tree, path, matches, text };
    this.#draw();
  }

  focus(): void {
    this.#list.focus();
  }

  get #segment(): number | undefined {
    return this.#lines[this.#list.index]?.segment;
  }

  #openText(): void {
    if (this.#shown !== undefined) this.#actions.openText(this.#shown.path, this.#segment);
  }

  #buttons(): HTMLElement {
    const button = (label: string, hint: string, act: (path: number) => void): HTMLElement =>
      element(
        'vscode-button',
        { appearance: 'secondary', title: hint, onclick: () => this.#shown && act(this.#shown.path) },
        label,
      );
    return element(
      'div',
      { class: 'actions' },
      button('Open as Text', 'With overlays, lenses and hovers (Enter)', () => this.#openText()),
      button('Open Tree', 'The tree that the trajectory is a path of', path =>
        this.#actions.openTree(path, this.#segment),
      ),
      button('Compare with…', 'The difference to another trajectory', path => this.#actions.compare(path)),
      button('Same Prompt', 'The trees of this prompt in all steps', () => this.#actions.samePrompt()),
    );
  }

  #onKey(event: KeyboardEvent): boolean {
    if (this.#shown === undefined || event.ctrlKey || event.metaKey || event.altKey)
      return this.#actions.key(event);
    const { tree, path } = this.#shown;
    const count = tree.paths.length;
    const moves: Record<string, () => void> = {
      n: () => this.#list.choose(nextHeading(this.#lines, this.#list.index, 1)),
      p: () => this.#list.choose(nextHeading(this.#lines, this.#list.index, -1)),
      ']': () => this.#go((path + 1) % count),
      '[': () => this.#go((path - 1 + count) % count),
      b: () => this.#goToParent(tree, path),
    };
    const move = moves[event.key];
    if (move === undefined) return this.#actions.key(event);
    move();
    return true;
  }

  #go(path: number): void {
    if (this.#shown === undefined) return;
    this.#shown.path = path;
    this.#draw();
    this.#actions.moved(path);
  }

  #goToParent(tree: Tree, path: number): void {
    const { from } = tree.paths[path]!;
    if (from === undefined) return;
    this.#go(from.path);
    this.#goToSegment(from.segment);
  }

  #goToSegment(segment: number | undefined): void {
    const at = this.#lines.findIndex(line => line.segment === segment);
    this.#list.choose(Math.max(0, at), 'top');
  }

  #draw(): void {
    if (this.#shown === undefined) return;
    const { tree, path, matches } = this.#shown;
    this.#width = columnsIn(this.#list.root);
    this.#lines = transcript(tree, path, this.#width);
    this.#title.textContent = shorten(tree.task.question, 160);
    this.#facts.textContent = factsOf(tree, path);
    this.#reason.textContent = tree.paths[path]!.reward?.reason ?? '';
    drawTabs(this.#tabs, { tree, path }, new Set(matches.map(match => match.path)), next => this.#go(next));
    this.#list.show(this.#lines.length);
    this.#goToSegment(matches.find(match => match.path === path)?.segment);
  }

  /** Lines are wrapped anew where the pane became wider or narrower, and the reader stays in his segment. */
  #wrapAgain(): void {
    if (this.#shown === undefined || columnsIn(this.#list.root) === this.#width) return;
    const segment = this.#segment;
    this.#draw();
    this.#goToSegment(segment);
  }
}

function factsOf(tree: Tree, path: number): string {
  const { origin, from, calls, stop, reward } = tree.paths[path]!;
  const soft = tree.credit?.soft[path];
  return [
    `step ${tree.step} · tree ${tree.id} · trajectory ${path} of ${tree.paths.length}`,
    from === undefined ? origin : `branch of trajectory ${from.path}`,
    reward === undefined
      ? 'not judged'
      : `reward ${number(reward.total)} (${reward.correct ? 'right' : 'wrong'})`,
    soft !== undefined ? `A ${signed(soft)}` : tree.imported ? 'advantage not logged' : 'no advantage',
    counted(calls, 'tool call'),
    stop === undefined ? 'its end is not logged' : `ended by ${stop}`,
    `accepted: ${tree.task.references.join(' | ') || 'not logged'}`,
    ...(reward?.answer === undefined ? [] : [`answered: ${reward.answer}`]),
  ].join(' · ');
}

function fillLine(row: HTMLElement, line: Line, wanted: string): void {
  row.className = `row line ${line.kind} ${line.role}${line.isDim ? ' dim' : ''}`;
  row.setAttribute('aria-label', labelOf(line));
  if (line.kind === 'heading')
    row.replaceChildren(
      element('span', { class: 'role' }, line.text),
      element('span', { class: 'numbers' }, line.facts ?? ''),
    );
  else row.replaceChildren(...marked(line.text, line.kind === 'text' ? wanted : ''));
}

/** The text with what was looked for marked. */
function marked(text: string, wanted: string): (string | HTMLElement)[] {
  if (wanted === '') return [text];
  const parts: (string | HTMLElement)[] = [];
  const lower = text.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted.toLowerCase()); at >= 0;) {
    parts.push(text.slice(from, at), element('mark', {}, text.slice(at, at + wanted.length)));
    from = at + wanted.length;
    at = lower.indexOf(wanted.toLowerCase(), from);
  }
  return [...parts, text.slice(from)];
}

/** Characters of the transcript's font that fit beside the margins. */
function columnsIn(root: HTMLElement): number {
  const style = getComputedStyle(root);
  const context = document.createElement('canvas').getContext('2d')!;
  context.font = `${style.fontSize} ${style.fontFamily}`;
  const fitting = Math.floor((root.clientWidth - 32) / context.measureText('0').width);
  return Math.max(NARROWEST, Math.min(WIDEST, fitting));
}

/** Pixels of a line in the editor's font. */
function lineHeight(): number {
  const size = Number.parseFloat(
    getComputedStyle(document.body).getPropertyValue('--vscode-editor-font-size'),
  );
  return Math.round((Number.isNaN(size) ? 13 : size) * 1.5);
}
