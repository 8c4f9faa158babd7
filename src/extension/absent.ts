/** What is said where there is nothing to choose from, and what can be done then. Knows nothing of VS Code. */
import { basename } from 'node:path';
import { counted } from '../core/figures.ts';
import { FILES } from '../run/layout.ts';
import { COMMANDS, type CommandName } from './names.ts';

export interface Absence {
  message: string;
  /** The command that helps, and what it is about. */
  next: CommandName;
  argument?: object;
}

/** `states` are those that were looked for; any where it is absent. `hasOther`: there is the run that was named already. */
export const noRun = (title: string, states: readonly string[] | undefined, hasOther: boolean): Absence =>
  states !== undefined
    ? { message: `${title}: no run is ${alternatives(states)}.`, next: 'launchRun' }
    : hasOther
      ? { message: `${title}: there is no other run.`, next: 'launchRun' }
      : { message: `${title}: there is no run yet. The sample has a recorded one.`, next: 'openSample' };

/** `a, b or c`. */
const alternatives = (words: readonly string[]): string =>
  [words.slice(0, -1).join(', '), ...words.slice(-1)].filter(Boolean).join(' or ');

export const noTree = (runFolder: string, isLive: boolean): Absence => ({
  message: `${basename(runFolder)} has no tree${isLive ? ' yet: its first step is under way' : ''}.`,
  next: 'openDashboard',
  argument: { runFolder },
});

/** `every`: steps between two. */
export const noCheckpoint = (runFolder: string, every: number): Absence => ({
  message: `${basename(runFolder)} has no checkpoint yet. It saves one every ${counted(every, 'step')} (checkpoint.every).`,
  next: 'openConfiguration',
  argument: { runFolder },
});

export const noEvaluation = (runFolder: string): Absence => ({
  message: `${basename(runFolder)} has no evaluation yet.`,
  next: 'evaluateCheckpoint',
  argument: { runFolder },
});

export const noConfiguration: Absence = {
  message: 'There is no run configuration (NAME.branchpoint.json) in this workspace.',
  next: 'newConfiguration',
};

/** `found` runs are there. */
export const tooFewRuns = (found: number): Absence => ({
  message: `${COMMANDS.compareRuns.title.replace('…', '')} takes two runs at least, and there is ${found === 0 ? 'none' : 'one'}.`,
  next: 'launchRun',
});

export const noRunIn = (folder: string): Absence => ({
  message: `${folder} has no run yet. Folders in it that have a ${FILES.manifest} are shown as soon as they are there.`,
  next: 'addRunsFolder',
});

export const noRollouts: Absence = {
  message: `No folder was opened by “${COMMANDS.openRollouts.title}”.`,
  next: 'openRollouts',
};
