/** Which trajectories of a tree a reader looks for. Knows nothing of files, or of how a tree is shown. */
import { segmentsOf } from './tree.ts';
import type { StopReason, Tree } from './types.ts';

/** What must hold of one trajectory; parts that are absent always hold. */
export interface TrajectoryQuery {
  /** Stands in the text of one of its segments, letter case aside. */
  text?: string;
  /** It called this tool. */
  tool?: string;
  stop?: StopReason;
  /** Bounds of its total reward, both included; one that was not judged is outside. */
  minimum?: number;
  maximum?: number;
  /** The question of its task, as far as a list shows it. */
  prompt?: string;
}

/** A trajectory that was found, and where its text was. */
export interface TrajectoryMatch {
  path: number;
  /** Only where text was looked for: the first segment that has it, and the text around it. */
  segment?: number;
  excerpt?: string;
}

/** Characters of an excerpt before and after what was looked for. */
const AROUND = 40;

export const isEmpty = (query: TrajectoryQuery): boolean =>
  Object.values(query).every(part => part === undefined || part === '');

/** In the order of the tree's paths. The prompt is not looked at: a list knows it. */
export function matchesIn(tree: Tree, query: TrajectoryQuery): TrajectoryMatch[] {
  const { text = '', tool = '', stop, minimum, maximum } = query;
  const wanted = text.toLowerCase();
  const found =
    wanted === '' ? undefined : tree.segments.map(segment => segment.text.toLowerCase().indexOf(wanted));
  return tree.paths.flatMap(({ stop: ended, reward }, path): TrajectoryMatch[] => {
    if (stop !== undefined && ended !== stop) return [];
    if (minimum !== undefined && !(reward !== undefined && reward.total >= minimum)) return [];
    if (maximum !== undefined && !(reward !== undefined && reward.total <= maximum)) return [];
    const segments = segmentsOf(tree, path);
    if (tool !== '' && !segments.some(segment => tree.segments[segment]!.call?.tool === tool)) return [];
    if (found === undefined) return [{ path }];
    const segment = segments.find(one => found[one]! >= 0);
    return segment === undefined
      ? []
      : [{ path, segment, excerpt: around(tree.segments[segment]!.text, found[segment]!, text.length) }];
  });
}

/** What was found with a few characters before and after it, on one line. */
function around(text: string, at: number, length: number): string {
  const from = Math.max(0, at - AROUND);
  const to = Math.min(text.length, at + length + AROUND);
  return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`.replace(/\s+/g, ' ');
}

/**
 * A quick test that a line of JSON may hold the text: false only where it surely does not. Characters that JSON may write in
 * another way are not tested.
 */
export function mayHold(text: string): (line: string) => boolean {
  if (text === '' || !/^[ !#-[\]-~]*$/.test(text)) return () => true;
  const pattern = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'i');
  return line => pattern.test(line);
}
