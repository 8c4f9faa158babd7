/** What the extension consists of while it is active: commands work on it, tests look at it. Knows nothing of what its parts do. */
import type * as vscode from 'vscode';
import type { Changes } from './changes.ts';
import type { Checks } from './checks.ts';
import type { ConfigDocuments } from './configDocuments.ts';
import type { Confirm } from './confirm.ts';
import type { TokenDecorations } from './decorations.ts';
import type { Drafts } from './drafts.ts';
import type { DryRuns } from './dryRuns.ts';
import type { Explorer } from './explorer.ts';
import type { Log } from './failures.ts';
import type { LinkedTexts } from './linkedTexts.ts';
import type { Panels } from './panels.ts';
import type { Places } from './places.ts';
import type { Replays } from './replays.ts';
import type { Runs } from './runs.ts';
import type { Trajectories } from './trajectories.ts';
import type { Program } from './workers.ts';
import type { StatusBar } from './statusBar.ts';

export interface App {
  context: Pick<vscode.ExtensionContext, 'extensionUri' | 'globalStorageUri'>;
  log: Log;
  places: Places;
  runs: Runs;
  explorer: Explorer;
  panels: Panels;
  trajectories: Trajectories;
  checks: Checks;
  configs: ConfigDocuments;
  dryRuns: DryRuns;
  decorations: TokenDecorations;
  drafts: Drafts;
  /** Outcomes of other rewards, and of trees that were drawn again. */
  rescores: LinkedTexts;
  replays: Replays;
  changes: Changes;
  statusBar: StatusBar;
  /** A test answers in the user's place: VS Code shows no modal dialog to tests. */
  confirm: Confirm;
  /** Asked for at each use: the setting may change. */
  program(): Program;
  /** The same, in a copy that outlives an update of the extension: for workers. */
  workerProgram(): Promise<Program>;
}
