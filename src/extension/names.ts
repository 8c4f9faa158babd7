/** Ids, titles and settings as package.json contributes them: the one table that code and manifest are checked against. */

export const CATEGORY = 'Branchpoint';

/** Command id (without `branchpoint.`) → title and icon (codicon). */
export const COMMANDS = {
  newConfiguration: { title: 'New Run Configuration', icon: 'new-file' },
  openSample: { title: 'Open Sample', icon: 'beaker' },
  openSampleIn: { title: 'Open Sample in Folder…', icon: 'folder-opened' },
  launchRun: { title: 'Launch Run', icon: 'play' },
  trainLive: { title: 'Train Live', icon: 'zap' },
  validateConfiguration: { title: 'Validate Configuration', icon: 'check' },
  dryRun: { title: 'Dry Run (1 Step)', icon: 'debug-step-over' },
  checkRun: { title: 'Check Run', icon: 'tasklist' },
  showCheck: { title: 'Show What a Check Is About', icon: 'go-to-file' },
  pauseRun: { title: 'Pause Run', icon: 'debug-pause' },
  resumeRun: { title: 'Resume Run', icon: 'debug-continue' },
  stopRun: { title: 'Stop Run', icon: 'debug-stop' },
  openDashboard: { title: 'Open Run Dashboard', icon: 'graph-line' },
  openTree: { title: 'Open Rollout Tree', icon: 'type-hierarchy' },
  openTrajectory: { title: 'Open Trajectory as Text', icon: 'list-selection' },
  evaluateCheckpoint: { title: 'Evaluate Checkpoint', icon: 'checklist' },
  openEvaluation: { title: 'Open Evaluation Report', icon: 'preview' },
  exportEvaluation: { title: 'Export Evaluation as HTML…', icon: 'export' },
  compareRuns: { title: 'Compare Runs…', icon: 'compare-changes' },
  cycleOverlay: { title: 'Cycle Token Overlay', icon: 'symbol-color' },
  chooseOverlay: { title: 'Choose Token Overlay', icon: 'symbol-color' },
  toggleMask: { title: 'Toggle Token Mask Overlay', icon: 'eye' },
  nextUncertain: { title: 'Go to Next High-Entropy Step', icon: 'arrow-down' },
  previousUncertain: { title: 'Go to Previous High-Entropy Step', icon: 'arrow-up' },
  nextSibling: { title: 'Go to Next Sibling Trajectory', icon: 'arrow-right' },
  previousSibling: { title: 'Go to Previous Sibling Trajectory', icon: 'arrow-left' },
  parentBranch: { title: 'Go to Parent Branch', icon: 'git-branch' },
  compareTrajectory: { title: 'Compare Trajectory with…', icon: 'diff' },
  compareCheckpoints: { title: 'Compare Checkpoints on This Trajectory…', icon: 'versions' },
  branchFromHere: { title: 'Branch from Here…', icon: 'git-branch' },
  replayRollout: { title: 'Replay Rollout', icon: 'debug-rerun' },
  rescoreRollouts: { title: 'Re-score Rollouts…', icon: 'law' },
  useDraft: { title: 'Go On with This Text', icon: 'play' },
  browseTrajectories: { title: 'Browse Trajectories', icon: 'list-tree' },
  openConfiguration: { title: 'Open the Run’s Configuration', icon: 'settings' },
  collectDiagnosis: { title: 'Collect Diagnosis Bundle', icon: 'report' },
  filterRuns: { title: 'Filter Runs…', icon: 'filter' },
  clearRunFilter: { title: 'Show All Runs', icon: 'clear-all' },
  groupRuns: { title: 'Group Runs By…', icon: 'group-by-ref-type' },
  addRunsFolder: { title: 'Add Runs Folder…', icon: 'folder-library' },
  openRollouts: { title: 'Open Rollouts of verl or prime-rl…', icon: 'cloud-download' },
  closeRollouts: { title: 'Remove Rollouts from Runs', icon: 'close' },
  renameRun: { title: 'Rename Run…', icon: 'edit' },
  tagRun: { title: 'Tag Run…', icon: 'tag' },
  cloneConfiguration: { title: 'Clone Configuration', icon: 'copy' },
  openResolvedConfiguration: { title: 'Open the Run’s Resolved Configuration', icon: 'settings' },
  openGitDiff: { title: 'Open the Run’s Git Diff', icon: 'git-compare' },
  diffConfigurations: { title: 'Configuration Differences to…', icon: 'diff' },
  exportRun: { title: 'Export Run…', icon: 'export' },
  revealRun: { title: 'Reveal Run in the System’s File Manager', icon: 'folder-opened' },
  revealRunInExplorer: { title: 'Reveal Run in Explorer View', icon: 'files' },
  copyRunPath: { title: 'Copy Run’s Path', icon: 'copy' },
  deleteRun: { title: 'Delete Run…', icon: 'trash' },
  refreshRuns: { title: 'Refresh Runs', icon: 'refresh' },
  showLog: { title: 'Show Log', icon: 'output' },
} as const;

export type CommandName = keyof typeof COMMANDS;

export const commandId = (name: CommandName): `branchpoint.${CommandName}` => `branchpoint.${name}`;

/** Keys of the settings, without `branchpoint.`. */
export const SETTINGS = ['runsFolders', 'nodePath', 'trajectory.overlay', 'trajectory.credit'] as const;
export type SettingName = (typeof SETTINGS)[number];

export const VIEWS = { runs: 'branchpoint.runs' } as const;
export const PANELS = {
  dashboard: 'branchpoint.dashboard',
  tree: 'branchpoint.tree',
  evaluation: 'branchpoint.evaluation',
  compare: 'branchpoint.compare',
} as const;
export type ViewKind = keyof typeof PANELS;

/** The editor of trees.jsonl. */
export const BROWSER = 'branchpoint.trajectories';
export const TRAJECTORY = 'branchpoint-trajectory';
/** Scheme of documents that show a run's configuration as it was resolved. */
export const RESOLVED_CONFIG = 'branchpoint-config';
/** Documents of rewards that might have been. */
export const RESCORED = 'branchpoint-rescored';
/** Documents of what came of drawing trees again. */
export const REPLAYED = 'branchpoint-replayed';
export const CONFIG_SUFFIX = '.branchpoint.json';

/** Ends the name of a trajectory's document. */
export const TRAJECTORY_SUFFIX = '.trajectory';

/** Tools that language models may use, by what they do. */
export const LANGUAGE_TOOLS = {
  listRuns: 'branchpoint_list_runs',
  readStep: 'branchpoint_read_step',
  explainBranch: 'branchpoint_explain_branch',
} as const;
export type LanguageToolName = keyof typeof LANGUAGE_TOOLS;

/** Scheme and language of samples of evaluations, and what ends their names. */
export const SAMPLE = 'branchpoint-sample';
export const SAMPLE_SUFFIX = '.evaluated';
