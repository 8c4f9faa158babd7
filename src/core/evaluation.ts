/** What an evaluation leaves: how every trajectory of every task ended, and what all was measured with. Knows nothing of files or of how it is told. */
import type { EvaluationSummary } from './events.ts';
import type { SegmentKind, StopReason, ToolCall } from './types.ts';

/** A stretch of a response that one side wrote; its text are the next `length` UTF-16 units of the trajectory's. */
export interface SamplePiece {
  kind: Exclude<SegmentKind, 'prompt'>;
  length: number;
  tokens: number;
  /** Only for tool answers. */
  call?: Omit<ToolCall, 'argument'>;
}

/** How one trajectory of an evaluation ended. */
export interface TrajectoryOutcome {
  greedy: boolean;
  correct: boolean;
  reward: number;
  /** What was read as the answer; absent where none was found. */
  answer?: string;
  calls: number;
  reason: string;
  /** The whole response, tags and tool answers included. */
  text: string;
  /** Why it ended; absent in records of older versions, as what follows is. */
  stop?: StopReason;
  /** Named addends of the reward. */
  parts?: Readonly<Record<string, number>>;
  /** The response by who wrote it, in order. */
  pieces?: readonly SamplePiece[];
}

export interface TaskOutcome {
  task: string;
  question: string;
  references: readonly string[];
  ability: string;
  /** As the policy read it; absent in records of older versions. */
  prompt?: string;
  trajectories: TrajectoryOutcome[];
}

/** What an evaluation was made with. */
export interface Provenance {
  /** ISO 8601. */
  at: string;
  /** The command that was given; absent where the run itself evaluated. */
  command?: string;
  /** Folder of the weights, and SHA-256 of what it holds. */
  weights: { folder: string; hash: string };
  /** File of the tasks. */
  dataset: { path: string; hash: string };
  /** SHA-256 of the chat template; absent where the policy's folder has none of its own file or field. */
  templateHash?: string;
  seed: number;
  /** Of the samples; the greedy trajectory has 0. */
  temperature: number;
  maxResponseTokens: number;
  /** Tags of the tools, and whether their answers came from a file. */
  tools: readonly string[];
  cache: 'off' | 'on';
  cassette: 'off' | 'record' | 'replay' | 'replay-or-record';
  /** `paper` for the reward that the config describes, else the user's own program: the path of its module, or its command. */
  reward: string;
  /** True where `reward` is a path; absent in records of older versions. */
  isModule?: boolean;
  versions: Readonly<Record<string, string>>;
}

/** evaluations/<id>.json. */
export interface EvaluationRecord {
  summary: EvaluationSummary;
  /** In the order of the tasks. */
  outcomes: TaskOutcome[];
  /** Absent in records of older versions. */
  provenance?: Provenance;
}

/** The trajectories that accuracy speaks of: the samples, or the greedy ones where nothing was sampled. */
export function measuredOf<T extends Pick<TrajectoryOutcome, 'greedy'>>(
  trajectories: readonly T[],
): readonly T[] {
  const sampled = trajectories.filter(({ greedy }) => !greedy);
  return sampled.length > 0 ? sampled : trajectories;
}

/** Tokens of a response; undefined where they were not logged. */
export const tokensOf = ({ pieces }: TrajectoryOutcome): number | undefined =>
  pieces?.reduce((sum, { tokens }) => sum + tokens, 0);
