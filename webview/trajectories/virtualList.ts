/** A list of any length in a constant number of elements, walked by keyboard. Knows nothing of what its rows show. */
import { element } from '../shared/element.ts';
import { above, type Extent, inSight, keyTarget, scrollTopOf, tall, towards } from './scale.ts';

export interface ListOptions {
  label: string;
  /** Pixels; the same for all rows. */
  rowHeight: number;
  /** Puts a row's content into an element that may have shown another row. */
  fill(row: HTMLElement, index: number): void;
  /** The rows that are wanted now, as they come into sight: half-open. */
  wanted?(from: number, to: number): void;
  /** The chosen row changed, or was chosen again, by what. */
  chosen?(index: number, by: 'move' | 'click' | 'enter'): void;
  /** A key that the list does not know; true where it was used. */
  key?(event: KeyboardEvent): boolean;
}

export class VirtualList {
  readonly root: HTMLElement;
  readonly #options: ListOptions;
  readonly #spacer = element('div', { class: 'spacer', role: 'presentation' });
  readonly #pool: HTMLElement[] = [];
  readonly #id: string;
  #count = 0;
  #index = -1;
  #isAsked = false;

  constructor(options: ListOptions) {
    this.#options = options;
    this.#id = `list-${options.label.toLowerCase().replaceAll(/\W+/g, '-')}`;
    this.root = element(
      'div',
      { class: 'virtual', role: 'listbox', tabindex: 0, 'aria-label': options.label },
      this.#spacer,
    );
    this.root.addEventListener('scroll', () => this.refill());
    this.root.addEventListener('keydown', event => this.#onKey(event));
    this.root.addEventListener('click', event => {
      const row = (event.target as Element).closest<HTMLElement>('[data-index]');
      if (row?.dataset.index !== undefined) this.#pick(Number(row.dataset.index), 'click');
    });
    new ResizeObserver(() => this.refill()).observe(this.root);
  }

  /** The chosen row; −1 where none is. */
  get index(): number {
    return this.#index;
  }

  /** Shows so many rows; those in sight are filled again. */
  show(count: number): void {
    this.#count = count;
    this.#index = Math.min(this.#index, count - 1);
    this.#spacer.style.height = `${tall(this.#extent)}px`;
    this.refill();
  }

  /** Fills what is in sight again, with the next frame. */
  refill(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    requestAnimationFrame(() => this.#paint());
  }

  /** Chooses a row and brings it into sight: where it is nearest, or to the top. −1 chooses none. */
  choose(index: number, where: 'near' | 'top' = 'near'): void {
    this.#index = Math.min(this.#count - 1, index);
    if (this.#index >= 0) {
      const extent = this.#extent;
      this.root.scrollTop =
        where === 'top'
          ? scrollTopOf(extent, this.#index * extent.rowHeight)
          : towards(extent, this.root.scrollTop, this.#index);
    }
    this.refill();
  }

  focus(): void {
    this.root.focus();
  }

  get #extent(): Extent {
    return { count: this.#count, rowHeight: this.#options.rowHeight, view: this.root.clientHeight };
  }

  #pick(index: number, by: 'move' | 'click' | 'enter'): void {
    this.choose(index);
    if (this.#index >= 0) this.#options.chosen?.(this.#index, by);
  }

  #onKey(event: KeyboardEvent): void {
    const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey;
    const target = isPlain ? keyTarget(event.key, this.#index, this.#extent) : undefined;
    if (target !== undefined) this.#pick(target, 'move');
    else if (event.key === 'Enter') this.#pick(this.#index, 'enter');
    else if (this.#options.key?.(event) !== true) return;
    event.preventDefault();
  }

  #paint(): void {
    this.#isAsked = false;
    const { scrollTop } = this.root;
    const { from, to } = inSight(this.#extent, scrollTop);
    const shift = scrollTop - above(this.#extent, scrollTop);
    this.#options.wanted?.(from, to);
    while (this.#pool.length < to - from) {
      const row = element('div', { role: 'option' });
      this.#pool.push(row);
      this.#spacer.append(row);
    }
    this.#pool.forEach((row, i) => {
      row.hidden = from + i >= to;
      if (!row.hidden) this.#place(row, from + i, shift);
    });
    const isInSight = this.#index >= from && this.#index < to;
    if (isInSight) this.root.setAttribute('aria-activedescendant', `${this.#id}-${this.#index}`);
    else this.root.removeAttribute('aria-activedescendant');
  }

  #place(row: HTMLElement, index: number, shift: number): void {
    const { rowHeight, fill } = this.#options;
    row.id = `${this.#id}-${index}`;
    row.dataset.index = String(index);
    row.style.transform = `translateY(${shift + index * rowHeight}px)`;
    row.style.height = `${rowHeight}px`;
    row.setAttribute('aria-posinset', String(index + 1));
    row.setAttribute('aria-setsize', String(this.#count));
    row.setAttribute('aria-selected', String(index === this.#index));
    fill(row, index);
  }
}
