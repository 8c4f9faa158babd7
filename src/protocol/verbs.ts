/** What the processes may ask each other. Every verb is answered or refused; its effect is visible only as later facts. */
import type { Counterfactual } from '../core/counterfactual.ts';
import type { Flip } from '../core/evaluationFlips.ts';
import type { Event } from '../core/events.ts';
import type { Extreme } from '../core/extremes.ts';
import type { Neighbours } from '../core/neighbours.ts';
import type { Report, SampleRef } from '../core/report.ts';
import type { RunFacts } from '../core/runComparison.ts';
import type { StepColumns } from '../core/stepColumns.ts';
import type { TrajectoryMatch, TrajectoryQuery } from '../core/trajectorySearch.ts';
import type { Failure, Tree } from '../core/types.ts';

export const PROTOCOL = 1;

/** What a worker says about itself at once, whatever its engine does. */
export interface WorkerStatus {
  protocol: number;
  pid: number;
  run: string;
  state: 'starting' | 'running' | 'pausing' | 'paused' | 'stopping' | 'ended';
  step: number;
  steps: number;
  /** What it does now, in a few words: `sampling 41/64`, `training`, `saving`. */
  phase: string;
}

/** Asked of a training worker over its socket. */
export interface WorkerVerbs {
  status(): WorkerStatus;
  /** Answered when the request was taken; the `paused` fact says when it took effect. */
  pause(): void;
  resume(): void;
  /** Saves a checkpoint first, then ends. */
  stop(): void;
}

/** An evaluation of a run by its name. */
export interface EvaluationPlace {
  runFolder: string;
  evaluation: string;
}

/** What a view shows. */
export interface ViewSubject {
  /** Name of the run, and what else the view needs to find its subject again after a reload. */
  runFolder: string;
  tree?: string;
  path?: number;
  segment?: number;
  /** Name of the evaluation, and the one that it is set against. */
  evaluation?: string;
  against?: EvaluationPlace;
  /** All runs of a view that compares them; the first is `runFolder`. */
  runFolders?: string[];
  /** Whether a worker owns the run now; facts alone cannot tell. `show` is asked again when it changes. Absent: not known. */
  isLive?: boolean;
}

/** A trajectory of a run, or of a counterfactual. */
export interface TreePath {
  tree: string;
  path: number;
}

/** What the view of an evaluation asks besides. */
export interface EvaluationVerbs {
  /** The report, against the other evaluation where the subject names one, and the run's other evaluations. */
  evaluation(): {
    report: Report;
    others: { label: string; place: EvaluationPlace }[];
    against?: EvaluationPlace;
  };
  /** Sets the evaluation against another; undefined for none. */
  setAgainst(place: EvaluationPlace | undefined): void;
  /** Asks the user for an evaluation of any run and sets against it. False where he chose none. */
  chooseAgainst(): boolean;
  openSample(sample: SampleRef): void;
  /** Both trajectories of a task that flipped, side by side. */
  openFlip(flip: Flip): void;
  exportEvaluation(): void;
}

/** What the view that compares runs asks besides. */
export interface CompareVerbs {
  /** In the order of the subject's folders, which is that of `run` in batches of events. */
  runs(): RunFacts[];
  /** Configurations of two runs, side by side. */
  openConfigurations(first: number, second: number): void;
  openRun(run: number): void;
  /** Asks the user for runs to compare instead. */
  chooseRuns(): void;
}

/** Asked by a webview of the extension host. */
export interface HostVerbs extends EvaluationVerbs, CompareVerbs {
  /**
   * First ask of every view: all facts so far that the view folds, in batches through `events` after it. `hasGitDiff`: what differed
   * from the commit that the run was started at is recorded.
   */
  ready(): { subject: ViewSubject; name: string; hasGitDiff: boolean };
  /** The trees around one, those of the step that is being grown included. */
  neighbours(id: string): Neighbours;
  tree(id: string): Tree;
  /** The trajectories of a step that are worth a look first; none where its trees were not kept. */
  extremes(step: number): Extreme[];
  /** The trees of a step that were kept so far. */
  trees(step: number): TreeRow[];
  openTree(id: string): void;
  openTrajectory(tree: string, path: number, segment?: number): void;
  runCommand(
    command: 'pause' | 'resume' | 'stop' | 'openConfig' | 'gitDiff' | 'evaluate' | 'diagnosis' | 'trainLive',
  ): void;
  /** What was drawn from the tree beside the training, and what of it cannot be read. */
  counterfactuals(tree: string): { counterfactuals: Counterfactual[]; failures: Failure[] };
  /** Asks the user what to draw from there; `show` is asked again when it is done. */
  branchFrom(tree: string, path: number, segment: number): void;
  /** Draws the tree again and shows what differs; asks the user how tools shall answer. */
  replay(tree: string, path: number): void;
  /** Shows two trajectories of the run side by side. */
  compare(one: TreePath, other: TreePath): void;
  /** Lets the window remember the subject over a reload. */
  remember(subject: ViewSubject): void;
}

/** Asked by the extension host of a webview; the next `events` only after the last was taken. */
export interface ViewVerbs {
  /**
   * `from` is 0 where the view must forget what it has (first batch, or the journal was replaced); `run` is the index of the run
   * where the view compares several. `more`: the next batch waits already, so that drawing this one is hardly worth it. `steps` are
   * facts that are missing among `events`, for a view that unpacks them.
   */
  events(batch: { from: number; events: Event[]; steps?: StepColumns; run?: number; more?: boolean }): void;
  show(subject: ViewSubject): void;
}

/** One row of the list of trees. */
export interface TreeRow {
  id: string;
  step: number;
  /** The beginning of the task's question. */
  question: string;
  /** Mean over the trajectories that were judged; absent where none was. */
  reward?: number;
  paths: number;
  /** Absent where an imported run does not tell them. */
  branches?: number;
  refused?: number;
  /** Only while something is looked for: the trajectories that were found; empty where all of the tree are meant. */
  matches?: TrajectoryMatch[];
}

/** What the list of trees is by now. */
export interface TreeListing {
  /** Rows of the list, and trees of the run. */
  rows: number;
  trees: number;
  /** Trajectories that were found; absent while nothing is looked for. */
  found?: number;
  /** Share of the file that was looked through; 1 where it is done. */
  share: number;
  /** Why the list could not be read or looked through. */
  problem?: string;
}

/** Asked of the extension host by the editor of trees.jsonl. */
export interface TrajectoriesHostVerbs {
  /** First ask of every view: the list follows through `listed`. `tools` are those of the run's configuration. */
  ready(): { runFolder: string; name: string; tools: string[] };
  /** Lists the trees with such a trajectory, all for a query that asks nothing; voids the search before. */
  find(query: TrajectoryQuery): void;
  /** Ends the search; what was found stays. */
  stopFinding(): void;
  rows(from: number, count: number): TreeRow[];
  tree(id: string): Tree;
  openTree(id: string, path: number, segment?: number): void;
  openTrajectory(tree: string, path: number, segment?: number): void;
  compare(tree: string, path: number): void;
  /** Shows the file as it is. */
  openPlainText(): void;
}

/** Asked by the extension host of the editor of trees.jsonl; the next only after the last was taken. */
export interface TrajectoriesViewVerbs {
  /** `isNew` where the rows are others than before, not only more of them. */
  listed(listing: TreeListing, isNew: boolean): void;
}
