/** Changes of a config's text that mend a problem, for editors to offer. Knows nothing of text or of which keys there are. */

/** A path is the steps from the root; a step into a list is its index. */
export type Remedy =
  | { kind: 'set'; path: readonly string[]; value: unknown }
  | { kind: 'remove'; path: readonly string[] }
  /** The value stays. */
  | { kind: 'rename'; path: readonly string[]; to: readonly string[] };

export const set = (key: string, value: unknown): Remedy => ({ kind: 'set', path: key.split('.'), value });
export const remove = (key: string): Remedy => ({ kind: 'remove', path: key.split('.') });

/** As the imperative that a menu shows. */
export function remedyTitle(remedy: Remedy): string {
  const name = remedy.path.join('.');
  switch (remedy.kind) {
    case 'set':
      return `Set ${name} to ${JSON.stringify(remedy.value)}`;
    case 'remove':
      return `Remove ${name}`;
    case 'rename':
      return `Change ${name} to ${remedy.to.join('.')}`;
  }
}
