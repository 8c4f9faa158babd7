/** Facts of a run, in the past tense: one line of events.jsonl each. Knows nothing of who writes or reads them. */
import type {
  Decision,
  Failure,
  PathOrigin,
  Reward,
  SegmentKind,
  StopReason,
  ToolCall,
  ToolOutcome,
} from './types.ts';

/** Readers refuse a newer major and ignore a newer minor. */
export const FORMAT = { major: 1, minor: 0 } as const;

interface Stamp {
  /** 0, 1, 2 … without gaps over the whole journal. */
  seq: number;
  /** ISO 8601 with milliseconds. */
  at: string;
  /** Step that the fact belongs to; steps count from 1, 0 is before the first. */
  step: number;
}

/**
 * The numbers of one step. Undefined means "not measured", never 0: imported runs lack most of what cannot be told from the
 * texts and rewards of their rollouts.
 */
export interface StepSummary {
  tasks: number;
  trajectories: number;
  reward: { mean: number; std: number; p10: number; p90: number; parts: Record<string, number> };
  /** Share of trajectories whose answer is right. */
  accuracy?: number;
  /** Mean entropies in nats over model tokens: all, first window after the prompt, first window after a tool result. */
  entropy: {
    all?: number;
    initial?: number;
    afterTool?: number;
    /** [model turn] mean over the turn's model tokens; null where none of them was measured. */
    byTurn?: (number | null)[];
  };
  branches?: { asked: number; taken: number; refused: number; noBudget: number; filled: number };
  /** Unique tool segments grown, by tag; errors are outcomes other than `ok`. */
  toolCalls: {
    total: number;
    byTool: Record<string, number>;
    errors?: number;
    latencyP50Ms?: number;
    latencyP95Ms?: number;
    byOutcome?: Partial<Record<ToolOutcome, number>>;
    /** By tag. */
    latencyP95MsByTool?: Record<string, number>;
  };
  /** `flat`: those without any advantage, or dropped by the filter, so that the group teaches nothing. */
  groups: { allRight: number; mixed: number; allWrong: number; flat?: number };
  /** Tokens: drawn by the policy, of the trees in all (each once), of all trajectories written out, and with a gradient. */
  tokens?: { sampled: number; unique: number; expanded: number; trained: number };
  responseTokens?: { mean: number; max: number; p10?: number; p90?: number };
  /** Model turns per trajectory. */
  turns?: { mean: number; max: number };
  stops: Partial<Record<StopReason, number>>;
  loss?: number;
  gradientNorm?: number;
  /** k3 estimate against the reference policy; absent without one. */
  kl?: number;
  /** Mean of log p_old − log p_new over the updates' terms. */
  approximateKl?: number;
  clipFraction?: number;
  /** The same by side: ratio clipped above, below, and by the dual clip. */
  clipFractions?: { high: number; low: number; dual: number };
  /** Updates whose gradient was not finite and that were skipped. */
  skippedUpdates?: number;
  /**
   * What the filter of groups did: rounds of further tasks, groups that were learned from, and groups that were dropped.
   * Absent without a filter. All other numbers are those of all groups.
   */
  filter?: { rounds: number; kept: number; dropped: number };
  /** Probes that split budgets: how many, and their tool calls and tokens, which `toolCalls` and `tokens` count too. Absent without. */
  probes?: { made: number; calls: number; tokens: number };
  /**
   * Mean, 99th percentile and largest |sampler − trainer| log-probability over drawn tokens, and the correlation of the two
   * (Pearson's r; absent where one of them does not vary).
   */
  mismatch?: { mean: number; max: number; p99?: number; correlation?: number };
  seconds?: { total: number; rollout: number; learn: number };
  /** Bytes in memory when the step's learning ended: of the worker, and of the process that its engine runs in. */
  memory?: { worker: number; engine?: number };
}

/** What a run of our own measures at every step. */
export type MeasuredSummary = StepSummary &
  Required<
    Pick<StepSummary, 'accuracy' | 'branches' | 'tokens' | 'responseTokens' | 'skippedUpdates' | 'seconds'>
  > & { entropy: { all: number }; toolCalls: { errors: number } };

/** Outcome of an evaluation on one dataset. */
export interface EvaluationSummary {
  /** Names the evaluation's files under evaluations/. */
  id: string;
  dataset: string;
  tasks: number;
  samples: number;
  /** Mean over tasks and samples at the sampling temperature, with a 95 % bootstrap interval over tasks. */
  accuracy: number;
  interval: [number, number];
  /** Accuracy of one greedy trajectory per task. */
  greedyAccuracy?: number;
  reward: number;
  toolCallsPerTrajectory: number;
  /** Accuracy by the tasks' ability. */
  byAbility: Record<string, number>;
  seconds: number;
}

export type Fact =
  | {
      type: 'run-started';
      format: { major: number; minor: number };
      /** The run folder's name. */
      run: string;
      /** Whose program trained it, where it was not ours: an imported run tells neither steps (0) nor what follows. */
      source?: string;
      steps: number;
      tasks?: number;
      tools: Record<string, string>;
      device?: string;
      parameters?: number;
      seed?: number;
    }
  | { type: 'step-started'; tasks: string[] }
  /** Further tasks take the place of groups that the filter dropped. */
  | { type: 'tasks-added'; tasks: string[]; round: number }
  | {
      type: 'segment-grown';
      tree: string;
      segment: number;
      parent: number;
      kind: SegmentKind;
      tokens: number;
      turn: number;
      /** Path that grew it first. */
      path: number;
      origin: PathOrigin;
      entropy?: number;
      stop?: StopReason;
    }
  | { type: 'tool-answered'; tree: string; segment: number; call: Omit<ToolCall, 'argument'> }
  | { type: 'branch-decided'; tree: string; decision: Decision }
  | {
      type: 'tree-finished';
      tree: string;
      task: string;
      paths: number;
      rewards: Reward['total'][];
      /** Byte span of the line in trees.jsonl and of its columns in tokens.bin; absent where the tree is not kept. */
      span?: { offset: number; length: number };
      tokens?: { offset: number; count: number };
    }
  | { type: 'tree-failed'; tree: string; failure: Failure }
  | { type: 'step-finished'; summary: StepSummary }
  /** `seconds` is absent where the worker that saved it ended before it could tell. */
  | { type: 'checkpoint-saved'; folder: string; hash: string; seconds?: number }
  | { type: 'evaluated'; summary: EvaluationSummary; checkpoint?: string }
  | { type: 'paused'; reason: string }
  | { type: 'resumed'; from: string }
  | { type: 'warned'; failure: Failure }
  | { type: 'run-ended'; outcome: 'finished' | 'stopped' | 'failed'; failure?: Failure };

/** The facts that tell of single trees, or of what a step is made of: whoever reads of steps that are finished needs none of them. */
export const TREE_FACTS = [
  ...(['step-started', 'tasks-added', 'segment-grown', 'tool-answered'] as const),
  ...(['branch-decided', 'tree-finished', 'tree-failed'] as const),
] satisfies readonly Fact['type'][];

export type Event = Stamp & Fact;
export type EventType = Fact['type'];
export type EventOf<T extends EventType> = Stamp & Extract<Fact, { type: T }>;
