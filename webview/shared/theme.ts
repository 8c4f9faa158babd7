/** The window's theme as values that a canvas can use, and word of its changes. Knows nothing of charts. */

/** Colours of charts that high-contrast themes leave out. */
const LEFT_OUT: Readonly<Record<string, string>> = { 'charts-orange': '#d18616' };

/** A theme colour by its VS Code name, e.g. `charts-blue`. */
export function themeColour(name: string, fallback = LEFT_OUT[name] ?? '#888888'): string {
  return getComputedStyle(document.body).getPropertyValue(`--vscode-${name}`).trim() || fallback;
}

/** The same colour, more transparent. */
export function faded(colour: string, alpha: number): string {
  const hex = /^#([0-9a-f]{6})/i.exec(colour)?.[1];
  if (!hex) return colour;
  const [red, green, blue] = [0, 2, 4].map(i => Number.parseInt(hex.slice(i, i + 2), 16));
  return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}

export const isHighContrast = (): boolean => document.body.classList.contains('vscode-high-contrast');

/** Calls back after every change of theme. */
export function onThemeChange(changed: () => void): void {
  new MutationObserver(changed).observe(document.body, {
    attributes: true,
    attributeFilter: ['class', 'data-vscode-theme-id'],
  });
}
