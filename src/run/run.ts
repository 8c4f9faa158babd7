/** What a run is to whoever reads it, whoever wrote it. */
import type { Event } from '../core/events.ts';
import type { Pieces } from '../core/pieces.ts';
import type { TokenColumns } from '../core/types.ts';
import type { Manifest } from './manifest.ts';
import type { Looking, TreeEntry } from './offsets.ts';
import type { TreeLine } from './treeShape.ts';

/** New events, and the byte behind their last line: the place to follow on from. */
export interface EventBatch {
  events: Event[];
  /** Where the batch begins; 0 where the journal begins or was replaced, so that what was read before is void. */
  from: number;
  next: number;
}

/** `headlines`: what tells of single trees (TREE_FACTS) in steps that finished since need not be read, most of a long journal. */
export interface Asked {
  headlines?: boolean;
  /** A step whose trees are read all the same. */
  step?: number;
}

/** A run folder open for reading. */
export interface Run {
  readonly folder: string;
  /** Whose program wrote it, where it was not ours; it is then imported: no manifest, no columns, nothing is written there. */
  readonly source?: string;
  /** Throws a FailureError where the run is imported, for then there is none. */
  readonly manifest: Manifest;
  /** All events so far, those that were voided by a resumption included (see core/fold). */
  events(asked?: Asked): Promise<Event[]>;
  /** Batches of events from a byte on: at once what is there, then what is added, until the signal is given. */
  follow(from: number, signal: AbortSignal, asked?: Asked): AsyncGenerator<EventBatch>;
  /** All trees in order; of steps that were done again after a resumption only what was written last. */
  trees(looking?: Looking): Promise<TreeEntry[]>;
  /** A tree of the list, or a counterfactual by its id. */
  tree(id: string): Promise<TreeLine>;
  columns(id: string): Promise<TokenColumns>;
  /** Undefined where the run has no vocabulary. */
  pieces(): Promise<Pieces | undefined>;
}
