/**
 * What a maintainer asks for when a run goes wrong, as one Markdown text that can be read before it is shared: the config, versions,
 * curves, facts and logs. Leaves out questions, answers and the home folder's name. Knows nothing of where the parts come from.
 */
import { alarms } from '../core/alarms.ts';
import { stepTable } from '../core/accounts.ts';
import type { CheckResult } from '../core/checkup.ts';
import { plain } from '../core/figures.ts';
import type { RunOutline } from '../core/fold.ts';
import type { Failure } from '../core/types.ts';
import type { WorkerStatus } from '../protocol/verbs.ts';
import type { Manifest } from '../run/manifest.ts';

/** Steps, warnings and lines of the log that are told: the last ones. */
const STEPS = 60;
const WARNINGS = 20;
const LINES = 200;

export interface Diagnosed {
  runFolder: string;
  manifest: Manifest;
  state: RunOutline;
  /** What a live worker says of itself, or why it says nothing; undefined where there is none. */
  worker: WorkerStatus | Failure | undefined;
  checks: readonly CheckResult[];
  /** The worker's log; '' where it wrote none. */
  log: string;
  /** Names and values: the editor's version, the system's, its memory. */
  machine: Readonly<Record<string, string>>;
  home: string;
}

export function diagnosis(found: Diagnosed): string {
  const { manifest, state } = found;
  const text = [
    `# Diagnosis of ${manifest.name}`,
    '',
    'Read it before you share it: it has the configuration, its paths, and what the worker logged; it has no question, answer or document.',
    '',
    ...list({
      folder: found.runFolder,
      state: `${state.status}, step ${state.step} of ${state.steps}`,
      worker: workerText(found.worker),
      ...(state.failure && { failure: failureText(state.failure) }),
      created: manifest.created,
      ...(state.last && { 'last fact': state.last.at }),
      commit: manifest.git
        ? `${manifest.git.commit}${manifest.git.isDirty ? ', with changes' : ''}`
        : 'not recorded',
      ...found.machine,
      ...Object.fromEntries(
        Object.entries(manifest.versions).map(([name, version]) => [`run by ${name}`, version]),
      ),
      ...(state.run && { device: `${state.run.device}, ${state.run.parameters} parameters` }),
    }),
    ...section('What looks wrong', [
      ...alarms(state).map(({ step, sentence }) => `- step ${step}: ${sentence}`),
      ...found.checks
        .filter(({ status }) => status !== 'ok')
        .map(({ id, status, message }) => `- ${status} ${id}: ${message}`),
      ...growing(state),
    ]),
    ...section(
      `Warnings (the last ${WARNINGS} of ${state.warnings.length})`,
      state.warnings
        .slice(-WARNINGS)
        .map(({ step, at, failure }) => `- ${at}, step ${step}: ${failureText(failure)}`),
    ),
    ...section(
      `Steps (the last ${STEPS} of ${state.summaries.length})`,
      state.summaries.length > 0 ? stepTable(state.summaries.slice(-STEPS)) : [],
    ),
    ...section('Evaluations and checkpoints', [
      ...state.evaluations.map(
        ({ step, summary }) =>
          `- step ${step}: accuracy ${plain(summary.accuracy)} on ${summary.tasks} tasks of ${summary.dataset}`,
      ),
      ...state.checkpoints.map(({ step, hash }) => `- step ${step}: checkpoint ${hash}`),
    ]),
    ...section('Configuration as resolved', fenced('json', JSON.stringify(manifest.config, null, 2))),
    ...section('Hashes', list(manifest.hashes)),
    ...section(
      `The worker’s log (the last ${LINES} lines)`,
      found.log === '' ? [] : fenced('text', found.log.trimEnd().split('\n').slice(-LINES).join('\n')),
    ),
  ].join('\n');
  return `${withoutSecrets(text, found.home)}\n`;
}

/** Trees of the step that is under way, with what they wait for. */
function growing({ live }: RunOutline): string[] {
  if (!live) return [];
  const open = live.trees.filter(({ rewards, failure }) => rewards === undefined && failure === undefined);
  return [
    `- step ${live.step} began at ${live.at}: ${open.length} of ${live.tasks.length} trees still grow`,
    ...open.map(({ id, segments, calls }) => {
      const waiting = segments.filter(({ kind, segment }) => kind === 'tool' && !(segment in calls)).length;
      return `  - ${id}: ${segments.length} segments, ${waiting} tool answers not told`;
    }),
  ];
}

function workerText(worker: Diagnosed['worker']): string {
  if (worker === undefined) return 'none is alive';
  if ('message' in worker) return `does not answer: ${failureText(worker)}`;
  return `process ${worker.pid}, ${worker.state}, ${worker.phase}`;
}

const failureText = ({ where, message, fix }: Failure): string =>
  `${where}: ${message}${fix === undefined ? '' : ` ${fix}`}`;

const list = (values: Readonly<Record<string, string>>): string[] =>
  Object.entries(values).map(([name, value]) => `- ${name}: ${value}`);

const section = (title: string, lines: readonly string[]): string[] => [
  '',
  `## ${title}`,
  '',
  ...(lines.length > 0 ? lines : ['Nothing.']),
];

/** A fence longer than any in the text. */
function fenced(language: string, text: string): string[] {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return [`${fence}${language}`, text, fence];
}

/** The home folder's name is a person's; addresses may carry a password or a key. */
function withoutSecrets(text: string, home: string): string {
  // In JSON a Windows path has its backslashes twice; a system user may have the root for a home.
  const homes = home.length < 2 ? [] : [home, JSON.stringify(home).slice(1, -1), home.replaceAll('\\', '/')];
  return homes
    .reduce((shown, one) => shown.replaceAll(one, '~'), text)
    .replace(/(\w+:\/\/)[^/\s"@]+@/g, '$1…@')
    .replace(/([?&](?:\w*(?:key|token|secret|password)\w*)=)[^&\s"]+/gi, '$1…')
    .replace(/(bearer\s+)[^\s",]+/gi, '$1…')
    .replace(/((?:authorization|api[-_]?key)"?\s*:\s*"?)(?!bearer\s)[^\s",]+/gi, '$1…');
}
