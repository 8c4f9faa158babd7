/** Makes DOM elements in one expression. Knows nothing of what they show. */

type Child = Node | string | undefined;
type Attributes = Record<string, string | number | boolean | undefined | ((event: Event) => void)>;

const SVG = 'http://www.w3.org/2000/svg';

/** `element('button', { class: 'x', onclick: f }, 'text')`; undefined and false attributes are left out. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes?: Attributes,
  ...children: Child[]
): HTMLElementTagNameMap[K];
export function element(tag: string, attributes?: Attributes, ...children: Child[]): HTMLElement;
export function element(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  return dress(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return dress(document.createElementNS(SVG, tag), attributes, children);
}

function dress<T extends Element>(target: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') target.addEventListener(name.replace(/^on/, ''), value);
    // What is there or not is empty where it is there; ARIA has words for true.
    else target.setAttribute(name, value === true && !name.startsWith('aria-') ? '' : String(value));
  }
  target.append(...children.filter(child => child !== undefined));
  return target;
}
