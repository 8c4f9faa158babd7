/** One of a few things to choose, all of them in sight. Knows nothing of what is chosen. */
import { element } from './element.ts';

export interface Option {
  label: string;
  meaning: string;
}

export interface Choice<T extends string> {
  root: HTMLElement;
  /** Shows another choice without asking anybody. */
  set(value: T): void;
  /** Lets only these be chosen. */
  allow(values: ReadonlySet<T>): void;
}

/** `name` is unique on the page; `title` is what a screen reader is told of the group. */
export function choice<T extends string>(
  { name, title, options }: { name: string; title: string; options: Readonly<Record<T, Option>> },
  chosen: (value: T) => void,
): Choice<T> {
  const values = Object.keys(options) as T[];
  const radios = values.map(value =>
    element('input', { type: 'radio', name, value, onchange: () => chosen(value) }),
  );
  const root = element(
    'fieldset',
    { class: 'segments', id: name },
    element('legend', { class: 'visually-hidden' }, title),
    ...values.map((value, i) =>
      element(
        'label',
        { title: options[value].meaning },
        radios[i],
        element('span', {}, options[value].label),
      ),
    ),
  );
  return {
    root,
    set: value => radios.forEach((radio, i) => (radio.checked = values[i] === value)),
    allow: allowed => radios.forEach((radio, i) => (radio.disabled = !allowed.has(values[i]!))),
  };
}
