/** What a report on an evaluation consists of, in words and numbers that any page can draw. Knows nothing of how they are found or drawn. */
import type { EvaluationRecord } from './evaluation.ts';
import type { FailureReason } from './evaluationFailures.ts';
import type { Flip } from './evaluationFlips.ts';

/** A name and what it is; `value` says so itself where it was not logged. */
export interface Fact {
  label: string;
  value: string;
  /** What the number is, or what it is made of. */
  note?: string;
}

export interface Table {
  heads: string[];
  /** [row][column]; a share in [0, 1] beside a text may be drawn as a bar. */
  rows: { text: string; share?: number }[][];
}

/** A trajectory: index of its task, and its index there. */
export interface SampleRef {
  task: number;
  trajectory: number;
}

/** A trajectory in a list. */
export interface SampleLine extends SampleRef {
  name: string;
  /** `greedy`, or `sample 2 of 4`. */
  which: string;
  question: string;
  /** What was answered, and what would have been accepted. */
  said: string;
  wanted: string;
  reason: string;
}

export interface FailureGroup {
  reason: FailureReason;
  label: string;
  meaning: string;
  share: number;
  samples: SampleLine[];
}

export interface FlipLine extends Flip {
  name: string;
  question: string;
  said: string;
  otherSaid: string;
}

export interface FlipSection {
  /** Name of the other evaluation. */
  against: string;
  note: string;
  facts: Fact[];
  gained: FlipLine[];
  lost: FlipLine[];
}

export interface Report {
  title: string;
  /** What was measured, in a line. */
  subtitle: string;
  accuracy: { text: string; mean: number; interval: readonly [number, number]; note: string };
  warnings: string[];
  facts: Fact[];
  passAtK?: Table;
  tools: { facts: Fact[]; table?: Table };
  lengths: Fact[];
  failures: FailureGroup[];
  /** Trajectories that the failures are a share of. */
  measured: number;
  flips?: FlipSection;
  provenance: Fact[];
}

/** An evaluation and the name of its run. */
export interface Reported {
  run: string;
  record: EvaluationRecord;
}
