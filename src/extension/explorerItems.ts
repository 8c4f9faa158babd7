/** How the rows of the run explorer look, read and answer a click. Knows nothing of where rows come from. */
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import * as vscode from 'vscode';
import { counted } from '../core/figures.ts';
import type { FinishedStep, RunOutline } from '../core/fold.ts';
import { FILES } from '../run/layout.ts';
import { hasGitDiff, readManifest } from '../run/manifest.ts';
import type { RunSummary } from '../run/runs.ts';
import type { ShownCheck } from './checks.ts';
import {
  evaluationCount,
  type CheckSource,
  type GroupRow,
  type Kind,
  type PartRow,
  type RowOf,
} from './explorerRows.ts';
import { commandId } from './names.ts';
import {
  accuracyOf,
  CHECK_ICONS,
  checkLabel,
  checksDescription,
  CONTEXTS,
  gitText,
  liveStepDescription,
  type RowIcon,
  RUN_ICONS,
  runFacts,
  runLabel,
  runRowDescription,
  runTitle,
  statusOf,
  stepDescription,
  stepLabel,
  treeDescription,
} from './rows.ts';
import type { Target } from './target.ts';

const { Collapsed, None, Expanded } = vscode.TreeItemCollapsibleState;

const iconOf = ({ icon, color }: RowIcon): vscode.ThemeIcon =>
  new vscode.ThemeIcon(icon, color === undefined ? undefined : new vscode.ThemeColor(color));

/** A row's words and icon: what each kind says of itself. */
interface Face {
  label: string;
  icon: RowIcon | string;
  description?: string;
  /** What screen readers are told; the label and the description where absent. */
  spoken?: string;
  tooltip?: string;
  context?: string;
  state?: vscode.TreeItemCollapsibleState;
  command?: vscode.Command;
}

function itemOf(key: string, face: Face): vscode.TreeItem {
  const item = new vscode.TreeItem(face.label, face.state ?? None);
  item.id = key;
  item.iconPath = iconOf(typeof face.icon === 'string' ? { icon: face.icon } : face.icon);
  if (face.description !== undefined) item.description = face.description;
  if (face.tooltip !== undefined) item.tooltip = face.tooltip;
  if (face.context !== undefined) item.contextValue = face.context;
  if (face.command !== undefined) item.command = face.command;
  item.accessibilityInformation = {
    label: face.spoken ?? [face.label, face.description].filter(Boolean).join(', '),
  };
  return item;
}

export const groupItem = ({ key, name, count }: GroupRow): vscode.TreeItem =>
  itemOf(key, {
    label: name,
    icon: 'folder',
    description: String(count),
    spoken: `${name}, ${counted(count, 'run')}`,
    context: 'group',
    state: Expanded,
  });

/** A run that is not known any more has only its folder's name. */
export function runItem({ runFolder, key }: PartRow, run: RunSummary | undefined): vscode.TreeItem {
  if (run === undefined) return itemOf(key, { label: basename(runFolder), icon: 'question' });
  const status = statusOf(run);
  return itemOf(key, {
    label: runTitle(run),
    icon: RUN_ICONS[status],
    description: runRowDescription(run),
    spoken: runLabel(run),
    context: run.source === undefined ? CONTEXTS[status] : 'imported',
    state: status === 'unreadable' ? None : Collapsed,
  });
}

/** What hovering over a run shows; its manifest is read only then. */
export function runTooltip(run: RunSummary): vscode.MarkdownString {
  const hasManifest = statusOf(run) !== 'unreadable' && run.source === undefined;
  const manifest = hasManifest ? readManifest(run.folder) : undefined;
  const tooltip = new vscode.MarkdownString(`$(${RUN_ICONS[statusOf(run)].icon}) **`, true);
  tooltip.appendText(runTitle(run)).appendMarkdown('**\n\n');
  for (const [name, value] of runFacts(run, manifest))
    tooltip.appendMarkdown(`- ${name}: `).appendText(value).appendMarkdown('\n');
  return tooltip;
}

/** What the rows of a run need to know of it. */
export interface Known {
  state: RunOutline;
  checks: CheckSource;
}

/** The item of any row of a run but the run itself. */
export function partItem(row: Exclude<PartRow, { kind: 'run' }>, known: Known): vscode.TreeItem {
  // Each kind's function takes the row of its kind: the table is complete by its type.
  const face = FACES[row.kind] as (row: PartRow, known: Known) => Face;
  return itemOf(row.key, face(row, known));
}

const group =
  (label: string, icon: string, count: (state: RunOutline, runFolder: string) => number) =>
  ({ runFolder }: PartRow, { state }: Known): Face => ({
    label,
    icon,
    description: String(count(state, runFolder)),
    state: Collapsed,
  });

type PartKind = Exclude<Kind, 'group' | 'run'>;

const FACES: { [K in PartKind]: (row: RowOf<K>, known: Known) => Face } = {
  steps: group('Steps', 'list-ordered', state => state.summaries.length),
  checkpoints: group('Checkpoints', 'save-all', state => state.checkpoints.length),
  evaluations: group('Evaluations', 'checklist', evaluationCount),
  range: ({ from, to }) => ({ label: `Steps ${from}–${to}`, icon: 'list-ordered', state: Collapsed }),
  step: stepFace,
  tree: treeFace,
  checkpoint: checkpointFace,
  evaluation: evaluationFace,
  checks: checksFace,
  check: ({ runFolder, result }) => ({
    label: result.id,
    icon: CHECK_ICONS[result.status],
    description: result.message,
    spoken: checkLabel(result),
    tooltip: checkLabel(result),
    context: `check.${result.status}`,
    command: {
      command: commandId('showCheck'),
      title: 'Show',
      arguments: [{ subject: runFolder, result } satisfies ShownCheck],
    },
  }),
  note: ({ text, runFolder }) => ({
    label: text,
    icon: 'info',
    command: { command: commandId('checkRun'), title: 'Check Run', arguments: [{ runFolder }] },
  }),
  config: ({ runFolder }) => ({
    label: 'Config (resolved)',
    icon: 'settings',
    description: readManifest(runFolder).config.name,
    tooltip: 'The configuration as the run took it, every key with its value',
    context: 'config',
    command: {
      command: commandId('openResolvedConfiguration'),
      title: 'Open',
      arguments: [{ runFolder }],
    },
  }),
  log: logFace,
  git: gitFace,
};

function stepFace({ step }: RowOf<'step'>, { state }: Known): Face {
  const finished = summaryOf(state, step);
  const face = { label: `Step ${step}`, state: Collapsed, context: 'step' };
  if (finished !== undefined)
    return {
      ...face,
      icon: { icon: 'circle-filled', color: 'charts.blue' },
      description: stepDescription(finished),
      tooltip: stepLabel(finished),
      spoken: stepLabel(finished),
    };
  return {
    ...face,
    icon: state.live?.step === step ? 'loading~spin' : 'circle-outline',
    description: state.live?.step === step ? liveStepDescription(state.live) : 'not recorded',
  };
}

/** By halving: a list may ask for each of ten thousand. */
function summaryOf({ summaries }: RunOutline, step: number): FinishedStep | undefined {
  let low = 0;
  let high = summaries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (summaries[middle]!.step < step) low = middle + 1;
    else high = middle;
  }
  return summaries[low]?.step === step ? summaries[low] : undefined;
}

function treeFace({ tree, entry, runFolder }: RowOf<'tree'>, { state }: Known): Face {
  const live = state.live?.trees.find(({ id }) => id === tree);
  const description =
    entry !== undefined
      ? treeDescription(entry)
      : live !== undefined
        ? counted(live.segments.length, 'segment')
        : '';
  return {
    // Some rollouts of other programs have no question.
    label: entry === undefined || entry.question.trim() === '' ? `Tree ${tree}` : entry.question,
    icon: 'type-hierarchy-sub',
    description,
    spoken: `Tree ${tree}, ${description}, ${entry?.question ?? ''}`,
    tooltip: `Tree ${tree}${entry === undefined ? '' : `: ${entry.question}`}`,
    // Of one that grows there is nothing yet to go on from, and imported runs have no policy.
    context: state.run?.source !== undefined ? 'importedTree' : entry === undefined ? 'growingTree' : 'tree',
    command: {
      command: commandId('openTree'),
      title: 'Open Rollout Tree',
      arguments: [{ runFolder, tree }],
    },
  };
}

function checkpointFace({ checkpoint, step }: RowOf<'checkpoint'>, { state }: Known): Face {
  const evaluation = state.evaluations.findLast(evaluation => evaluation.step === step);
  const accuracy = evaluation === undefined ? undefined : accuracyOf(evaluation.summary);
  return {
    label: checkpoint,
    icon: 'save',
    description: accuracy ?? '',
    spoken: `Checkpoint of step ${step}${accuracy === undefined ? '' : `, held-out ${accuracy}`}`,
    context: 'checkpoint',
  };
}

function evaluationFace({ runFolder, step, at, summary, evaluation }: RowOf<'evaluation'>): Face {
  const time = at === undefined ? '' : `, ${new Date(at).toLocaleString()}`;
  const text = summary
    ? `accuracy ${accuracyOf(summary)} on ${summary.tasks} tasks of ${summary.dataset}, ${summary.samples} samples each, ${summary.toolCallsPerTrajectory.toFixed(1)} tool calls a trajectory${time}`
    : `${evaluation} cannot be read`;
  return {
    label: step === 0 ? 'Before training' : `After step ${step}`,
    icon: 'checklist',
    description: summary ? accuracyOf(summary) : 'cannot be read',
    tooltip: text,
    spoken: `Evaluation after step ${step}, ${text}`,
    context: 'evaluation',
    command: {
      command: commandId('openEvaluation'),
      title: 'Open Evaluation Report',
      arguments: [{ runFolder, evaluation } satisfies Target],
    },
  };
}

function checksFace({ runFolder }: RowOf<'checks'>, { checks }: Known): Face {
  const results = checks.results(runFolder);
  const isKnown = results !== undefined && results !== 'running';
  const worst = isKnown
    ? (['error', 'warning'] as const).find(status => results.some(result => result.status === status))
    : undefined;
  return {
    label: 'Checks',
    icon: isKnown ? CHECK_ICONS[worst ?? 'ok'] : results === 'running' ? 'loading~spin' : 'beaker',
    description: isKnown ? checksDescription(results) : (results ?? 'not checked yet'),
    context: 'checks',
    state: Collapsed,
  };
}

function logFace({ runFolder }: RowOf<'log'>): Face {
  const path = join(runFolder, FILES.log);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  return {
    label: 'Log',
    icon: 'output',
    description:
      size === undefined ? 'not recorded' : size < 1024 ? `${size} B` : `${Math.round(size / 1024)} KiB`,
    context: 'log',
    tooltip: 'What the worker and its children wrote to their standard error',
    ...(size !== undefined && { command: opening(path) }),
  };
}

function gitFace({ runFolder }: RowOf<'git'>): Face {
  const { git } = readManifest(runFolder);
  const hasChanges = hasGitDiff(runFolder);
  const changes =
    git?.isDirty !== true ? '' : hasChanges ? ', with changes' : ', with changes that are not recorded';
  return {
    label: 'Git',
    icon: 'git-commit',
    description: gitText(git),
    context: git === undefined ? 'git.none' : hasChanges ? 'git.changed' : 'git',
    tooltip:
      git === undefined
        ? 'The configuration was in no Git repository'
        : `Commit ${git.commit}${changes}${hasChanges ? ': a click shows them' : ''}`,
    spoken: git === undefined ? 'Git, not recorded' : `Git, commit ${git.commit.slice(0, 7)}${changes}`,
    ...(hasChanges && {
      command: { command: commandId('openGitDiff'), title: 'Open', arguments: [{ runFolder }] },
    }),
  };
}

const opening = (path: string): vscode.Command => ({
  command: 'vscode.open',
  title: 'Open',
  arguments: [vscode.Uri.file(path)],
});
