/** The dictionary: what a tree of rollouts is made of. Knows nothing of files, processes, models or views. */

/** One turn of the conversation that a task starts with. */
export interface Message {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

/** One dataset row. Immutable. */
export interface Task {
  /** Stable name of the row, unique in its dataset. */
  id: string;
  messages: readonly Message[];
  /** Accepted answers; at least one. */
  references: readonly string[];
  /** The dataset's own word for the kind of task, e.g. `qa`, `math`; '' where the row has none. */
  ability: string;
  /** verl's `data_source`; '' where the row has none. */
  source: string;
}

/**
 * Who wrote a segment's tokens. The loss mask derives from it: `model` is always trained, `forced` (text that the loop
 * appended in the model's name, such as an end-of-sequence at the call limit) only under rule `upstream`, the others never.
 */
export type SegmentKind = 'prompt' | 'model' | 'tool' | 'forced';

/**
 * Why a model segment ended. `call`: a tool's closing tag; `answer`: end of sequence; `length`: out of response tokens; `turn-length`:
 * out of the turn's tokens; `call-limit`: a call beyond a limit; `empty-call`: a call without an argument. All but `call` end the trajectory.
 */
export type StopReason = 'call' | 'answer' | 'length' | 'turn-length' | 'call-limit' | 'empty-call';

/** How a tool call ended. All but `ok` are still results that the policy reads. */
export type ToolOutcome = 'ok' | 'error' | 'timed-out' | 'too-large' | 'refused' | 'failed';

/** What a tool segment records about its call. */
export interface ToolCall {
  tool: string;
  argument: string;
  outcome: ToolOutcome;
  latencyMs: number;
  /** True where an identical call in flight, or a cache, answered. */
  shared: boolean;
}

/** A run of tokens of one kind. It stores only what it adds to its parent; a parent's index is smaller than its child's. */
export interface Segment {
  /** Index of the segment before it on every path through it; -1 for the prompt, which is segment 0. */
  parent: number;
  kind: SegmentKind;
  /** First token in the tree's token columns. */
  start: number;
  /** Number of tokens; may be 0. */
  count: number;
  /** The tokens' text, for reading and searching only: the ids are the truth. */
  text: string;
  /** Number of model turns before this segment on its path; 0 for the prompt and for the first turn. */
  turn: number;
  /** Only for model segments: why it ended. */
  stop?: StopReason;
  /** Only for model segments: entropy score (nats by the tree's rule) of its first tokens; absent when it has none. */
  entropy?: number;
  /** Only for tool segments. */
  call?: ToolCall;
  /** Only for tool segments of imported runs, which tell neither how a call ended nor how long it took. */
  asked?: Pick<ToolCall, 'tool' | 'argument'>;
}

/** The k tokens that the policy found likeliest where it drew one, the drawn one among them or not; likeliest first. */
export interface Alternatives {
  /** At least 1. */
  k: number;
  /** [drawn token · k] vocabulary ids. */
  ids: Int32Array;
  /** [drawn token · k] log-probabilities at the sampling temperature (at 1 where it was greedy). */
  logProbs: Float32Array;
}

/** Numbers of tokens, one entry per token of the tree, in segment order. NaN means "not measured for this token". */
export interface TokenColumns {
  /** [token] vocabulary id. */
  ids: Int32Array;
  /** [token] log-probability at the sampling temperature when it was drawn; NaN where no model drew it. */
  samplerLogProbs: Float32Array;
  /** [token] log-probability by the trainer before the step's first update; NaN where not scored. */
  trainerLogProbs: Float32Array;
  /** [token] full-vocabulary entropy (nats) of the distribution that it was drawn from; NaN where no model drew it. */
  entropies: Float32Array;
  /** Of the tokens that a model drew, those with a sampler log-probability, in their order; absent where none were recorded. */
  alternatives?: Alternatives;
}

/** `paper`: as published, with our normative choices; `upstream`: as the released code runs. */
export type Rule = 'paper' | 'upstream';

/**
 * The answer to one branching question. `branch`: a child was made; `refuse`: the gate said no; `budget`: all
 * trajectories of the group are made already; `length`: no response tokens are left for a child.
 */
export type DecisionOutcome = 'branch' | 'refuse' | 'budget' | 'length';

/** One branching question and its answer, recorded also when the answer is no. */
export interface Decision {
  /** Segment after which the question was asked (the tool result). */
  segment: number;
  /** Path that asked: index in the tree's paths. */
  path: number;
  /** Round of the tree in which it was asked, from 0. */
  round: number;
  rule: Rule;
  gate: 'bernoulli' | 'threshold';
  /** H_0: entropy score of the trajectory's first turn (paper) or of the slot's first turn (upstream); nats by the rule. */
  initialEntropy: number;
  /** H_t: entropy score of the window that was looked at; same unit. */
  entropy: number;
  /** ΔH = H_t − H_0. */
  entropyDelta: number;
  /** Tokens that H_t was computed from, at most the rule's window. */
  windowTokens: number;
  /** α and β of P = clamp(α + β·ΔH). */
  branchProbability: number;
  entropyWeight: number;
  /**
   * AEPO's damping of repeated branching; absent where there is none. `paper`: P = clamp((α + β·ΔH)·factor); `upstream`:
   * P = clamp(1 − α/factor + β·ΔH), and 0 at factor 0, where the draw U branches when clamp((U + β·ΔH)·factor) ≥ α.
   */
  penalty?: {
    form: Rule;
    /** l: branchings in a row before this question, on the trajectory (paper) or of the whole tree (upstream). */
    consecutive: number;
    /** max(0, 1 − penaltyRate·l). */
    factor: number;
  };
  /** P, in [0, 1]. */
  probability: number;
  /** Uniform draw in [0, 1); absent under the threshold gate or when the budget was spent before the question. */
  draw?: number;
  /** τ; only under the threshold gate. */
  threshold?: number;
  /** Trajectories of the group: made before this question, and allowed in all. */
  made: number;
  total: number;
  outcome: DecisionOutcome;
  /** Path that was made; only with outcome `branch`. */
  child?: number;
}

/** A trajectory's score. */
export interface Reward {
  total: number;
  /** Named addends of the total, e.g. { format: 0, accuracy: 1, tools: 0.1 }; of imported runs, numbers logged beside it. */
  parts: Readonly<Record<string, number>>;
  /** True where the answer counts as right (accuracy part at its full value). */
  correct: boolean;
  /** What was read as the answer; absent where none was found. */
  answer?: string;
  /** A sentence for the reader: why this score. */
  reason: string;
}

/** How a trajectory came to be: from the prompt at first, by a branch, or from the prompt to fill the group up. */
export type PathOrigin = 'initial' | 'branch' | 'fill';

/** One trajectory, named by its leaf; its segments are read from the leaf back to the root and never stored. */
export interface Path {
  /** Index of its last segment. */
  leaf: number;
  origin: PathOrigin;
  /** Only for origin `branch`: the path that it left, and the segment after which it did. */
  from?: { path: number; segment: number };
  /** Executed tool calls on the path, those of a shared prefix included. */
  calls: number;
  /** Absent where an imported run does not tell it. */
  stop?: StopReason;
  /** Written by judge; absent before. */
  reward?: Reward;
}

/**
 * Advantages. `soft` credits a (path, segment) with the path's own advantage; `hard` credits a segment with the mean over
 * the paths below it (paper §3.3). Absent is not 0: a group without variance has soft 0, a tree that failed has no credit.
 */
export interface Credit {
  /** [path] advantage of the path. */
  soft: readonly number[];
  /** [segment] mean advantage of the paths through the segment; null for segments that are never trained. */
  hard: readonly (number | null)[];
  /**
   * [segment][path through it, ascending] what credit `step` adds to the path's advantage on this segment (ω included);
   * empty for segments that are never trained. Only with used `step`, where `hard` has it too.
   */
  steps?: readonly (readonly number[])[];
  /** Which of them the update used; `step` is soft plus steps. */
  used: 'soft' | 'hard' | 'step';
}

/** What the tree keeps of its task. */
export interface TaskSummary {
  id: string;
  question: string;
  references: readonly string[];
  ability: string;
}

/** What AEPO's pre-monitoring measured before the tree grew. Its trajectory was thrown away, but its calls were made. */
export interface Probe {
  form: Rule;
  /** H_root: entropy score of the first tokens after the prompt; nats by the tree's rule. */
  rootEntropy: number;
  /** H̄: mean score of the trajectory's turns, all of them (upstream) or those after tool results (paper); H_root where there was none. */
  turnEntropy: number;
  /** k·σ(β·(H_root − H̄)), from which the tree's `initial` was made. */
  share: number;
  /** Tokens that the policy drew for it. */
  tokens: number;
  calls: Omit<ToolCall, 'argument'>[];
}

/** All segments grown from one task in one step. Also the JSON object of one line of trees.jsonl (with `tokens`). */
export interface Tree {
  /** Only in imported trees: whose program wrote it, and whether it logged tokens; where not, all counts are 0 and say nothing. */
  imported?: { source: string; hasTokens: boolean };
  /** `<step>.<index in step>`. */
  id: string;
  step: number;
  task: TaskSummary;
  rule: Rule;
  /** Trajectories started from the prompt, and in all (paper N and M). */
  initial: number;
  total: number;
  segments: Segment[];
  paths: Path[];
  decisions: Decision[];
  /** Only where a probe decided how many trajectories start from the prompt. */
  probe?: Probe;
  /** True where the step's filter left the group out of learning; it then has no credit. */
  isDropped?: boolean;
  credit?: Credit;
}

/** One vocabulary of failures, attributed where a failure crosses from one part into another. */
export interface Failure {
  where: 'config' | 'policy' | 'tool' | 'reward' | 'store' | 'bug';
  message: string;
  /** What the user can do; absent where we do not know. */
  fix?: string;
}

/** An Error that carries a Failure across a boundary. */
export class FailureError extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message);
    this.name = 'FailureError';
    this.failure = failure;
  }
}

/** What was thrown, in its own words. */
export const errorText = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);

/** For what somebody asked for, or wrote into a file, and what to write instead. */
export const refusal = (message: string, fix: string): FailureError =>
  new FailureError({ where: 'config', message, fix });
