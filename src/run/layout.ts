/** Names of files in a run folder. The only place that knows them. */

export const FILES = {
  /** Written once at the start: format, config as resolved, hashes, versions. */
  manifest: 'run.json',
  /** The config file as the user wrote it. */
  config: 'config.branchpoint.json',
  /** What the user calls the run: {label, tags}. The only file that is rewritten; it says nothing of what happened. */
  label: 'label.json',
  /** Tracked files of the repository as they differed from the commit that the manifest names; only where they did. */
  changes: 'git.diff',
  /** {pid, socket, startedAt, token, …} of the worker that owns the folder; absent when none does. */
  lock: 'run.lock',
  /** Append-only journal, one event per line. */
  events: 'events.jsonl',
  /** One tree per line: a Tree with `tokens: {offset, count}`. */
  trees: 'trees.jsonl',
  /** One line per line of trees.jsonl: where it lies and what a list of trees shows. A cache: without it readers scan. */
  treeIndex: 'trees.index',
  /**
   * Per tree its token columns one after the other: ids (i32), sampler log-probs, trainer log-probs, entropies (f32); then, where
   * the config asks for them, the alternatives of its drawn tokens: ids (i32), log-probs (f32), k neighbours a token.
   */
  tokens: 'tokens.bin',
  /** Bytes of every vocabulary entry, so that a reader needs no tokenizer; see core/pieces. */
  pieces: 'pieces.bin',
  checkpoints: 'checkpoints',
  evaluations: 'evaluations',
  /** `<step>.parquet`: exports for other programs; only where the config asks for them. */
  trajectories: 'trajectories',
  tensorboard: 'tensorboard',
  /** `<tree>~<n>.json`: counterfactuals, which nothing was learned from; written beside the training. */
  branches: 'branches',
  /** What the worker and its children wrote to their standard error. */
  log: 'worker.log',
} as const;

/** Folders of a run, and the run's own, whose files are written whole: beside, then renamed. Checkpoints see to themselves. */
export const WRITTEN_WHOLE = ['', FILES.evaluations, FILES.trajectories, FILES.branches] as const;

/** Bytes of one token over all columns of tokens.bin. */
export const TOKEN_BYTES = 16;
/** Bytes of one alternative of one token. */
export const ALTERNATIVE_BYTES = 8;

export const checkpointName = (step: number): string => `step-${String(step).padStart(6, '0')}`;

/** Names inside a checkpoint's folder. */
export const CHECKPOINT_FILES = {
  /** Trainer state, and hashes of the other files. */
  state: 'checkpoint.json',
  /** Dropped from old checkpoints; what has none cannot be resumed from. */
  optimizer: 'optimizer.safetensors',
} as const;
