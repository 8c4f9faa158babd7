/** What the rows of the run explorer say, in words for eyes and for screen readers. Knows nothing of VS Code or files. */
import type { CheckResult, CheckStatus } from '../core/checkup.ts';
import { counted, decimal, plain } from '../core/figures.ts';
import type { FinishedStep, LiveTree, RunOutline } from '../core/fold.ts';
import { TREND_SIGNS, trendOf } from '../core/trend.ts';
import { cut } from '../core/wrap.ts';
import type { Manifest } from '../run/manifest.ts';
import type { TreeEntry } from '../run/offsets.ts';
import type { RunSummary } from '../run/runs.ts';

/** A run as its row shows it: `starting` is live without a step. */
export type RowStatus = 'running' | 'paused' | 'starting' | Exclude<RunSummary['status'], 'live'>;

/** An icon (codicon) and the theme's colour for it. */
export interface RowIcon {
  icon: string;
  color?: string;
}

export const RUN_ICONS: Record<RowStatus, RowIcon> = {
  running: { icon: 'play-circle', color: 'charts.green' },
  starting: { icon: 'loading~spin' },
  paused: { icon: 'debug-pause', color: 'charts.yellow' },
  finished: { icon: 'pass', color: 'testing.iconPassed' },
  stopped: { icon: 'circle-slash', color: 'descriptionForeground' },
  failed: { icon: 'error', color: 'testing.iconFailed' },
  interrupted: { icon: 'warning', color: 'list.warningForeground' },
  unreadable: { icon: 'question', color: 'list.warningForeground' },
};

export function statusOf({ status, isPaused, step }: RunSummary): RowStatus {
  if (status !== 'live') return status;
  return isPaused ? 'paused' : step === 0 ? 'starting' : 'running';
}

/** Whether the run can be paused, resumed or stopped: the row's context for menus. */
export const CONTEXTS: Record<
  RowStatus,
  'run.running' | 'run.paused' | 'run.resumable' | 'run.finished' | 'run.unreadable'
> = {
  running: 'run.running',
  starting: 'run.running',
  paused: 'run.paused',
  stopped: 'run.resumable',
  failed: 'run.resumable',
  interrupted: 'run.resumable',
  finished: 'run.finished',
  unreadable: 'run.unreadable',
};

/** `.62`, `1.00`, `−.05`: two decimals without the zero that says nothing. */
export const short = (value: number): string => plain(value, 2);

/** A state that is not plain comes first: rows are narrow. */
export function runDescription(run: RunSummary): string {
  const status = statusOf(run);
  if (status === 'unreadable') return 'cannot be read';
  const parts = status === 'running' || status === 'finished' ? [] : [status as string];
  // An imported run does not say how many steps it is to have.
  parts.push(run.steps === 0 ? `step ${run.step}` : `step ${run.step}/${run.steps}`);
  const trend = trendOf(run.recent ?? []);
  if (run.reward !== undefined)
    parts.push(`R ${short(run.reward)}${trend === undefined ? '' : ` ${TREND_SIGNS[trend]}`}`);
  return parts.join(' · ');
}

/** What a run is called: by its user, else by its folder. */
export const runTitle = ({ label, name }: RunSummary): string => label ?? name;

const BARS = '▁▂▃▄▅▆▇█';

/** A bar for each number, from the smallest to the largest of them; in the middle where they are all the same. */
export function sparkline(values: readonly number[]): string {
  const least = Math.min(...values);
  const range = Math.max(...values) - least;
  return values
    .map(value => BARS[range === 0 ? 3 : Math.round(((value - least) / range) * (BARS.length - 1))])
    .join('');
}

/** What moves while a run is live: its rewards of late, and the entropy that the last step had. */
function liveNumbers({ status, recent = [], entropy, waiting = 0 }: RunSummary): string[] {
  if (status !== 'live') return [];
  return [
    ...(recent.length > 1 ? [sparkline(recent)] : []),
    ...(entropy === undefined ? [] : [`H ${short(entropy)}`]),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
  ];
}

/** Characters of why a run failed that its row shows; the whole of it stands in its tooltip. */
const SHOWN_PROBLEM = 60;

/** Behind the title in the list of runs: with the folder's name where the title is another, and the tags. */
export const runRowDescription = (run: RunSummary): string =>
  [
    ...(run.label === undefined ? [] : [run.name]),
    ...(run.source === undefined ? [] : [`imported (${run.source})`]),
    runDescription(run),
    ...(run.status === 'failed' && run.problem !== undefined ? [cut(run.problem, SHOWN_PROBLEM)] : []),
    ...liveNumbers(run),
    ...run.tags.map(tag => `#${tag}`),
  ].join(' · ');

const stepOf = ({ step, steps }: RunSummary): string =>
  steps === 0 ? `step ${step}` : `step ${step} of ${steps}`;

/** The same as a sentence. */
export function runLabel(run: RunSummary): string {
  const name = run.label === undefined ? run.name : `${run.label} (${run.name})`;
  const source = run.source === undefined ? '' : `, imported from ${run.source}`;
  const trend = trendOf(run.recent ?? []);
  const reward =
    run.reward === undefined
      ? ''
      : `, mean reward ${decimal(run.reward, 2)}${trend === undefined ? '' : ` and ${trend}`}`;
  const entropy =
    run.status !== 'live' || run.entropy === undefined ? '' : `, entropy ${decimal(run.entropy, 2)} nats`;
  const waiting =
    run.waiting === undefined || run.waiting === 0 ? '' : `, ${counted(run.waiting, 'tool call')} under way`;
  const tags = run.tags.length === 0 ? '' : `, tagged ${run.tags.join(', ')}`;
  const problem = run.problem === undefined ? '' : `. ${run.problem}`;
  return `Run ${name}${source}, ${statusOf(run)}, ${stepOf(run)}${reward}${entropy}${waiting}${tags}${problem}`;
}

/** What hovering over a run tells: names and values. Without a manifest only what the list knows. */
export function runFacts(run: RunSummary, manifest?: Manifest): [name: string, value: string][] {
  const { config, versions } = manifest ?? {};
  const facts: [string, string | undefined][] = [
    ['Folder', run.folder],
    ['Status', `${statusOf(run)}, ${stepOf(run)}`],
    [
      'Mean reward',
      (run.reward === undefined ? undefined : plain(run.reward)) ??
        (run.step === 0 ? undefined : 'not logged'),
    ],
    ['Entropy', run.entropy === undefined ? undefined : `${decimal(run.entropy, 3)} nats`],
    ['Problem', run.problem],
    ['Tags', run.tags.length === 0 ? undefined : run.tags.join(', ')],
    ['Imported from', run.source],
    ['Began', run.created === '' ? undefined : new Date(run.created).toLocaleString()],
    ['Preset', config?.preset],
    ['Policy', config?.policy.path],
    ['Tasks', config?.data.train],
    ['Seed', config?.seed.toString()],
    ['Git', manifest && gitText(manifest.git)],
    ['Branchpoint', versions?.branchpoint],
  ];
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
}

/** `3f2a1c4`, `3f2a1c4 + changes`. */
export const gitText = (git: Manifest['git']): string =>
  git === undefined ? 'not recorded' : `${git.commit.slice(0, 7)}${git.isDirty ? ' + changes' : ''}`;

export const CHECK_ICONS: Record<CheckStatus, RowIcon> = {
  ok: { icon: 'pass', color: 'testing.iconPassed' },
  warning: { icon: 'warning', color: 'list.warningForeground' },
  error: { icon: 'error', color: 'testing.iconFailed' },
};

const CHECK_WORDS: Record<CheckStatus, string> = { error: 'wrong', warning: 'to look at', ok: 'ok' };

/** `1 wrong · 2 to look at · 9 ok`, without what there is none of: rows are narrow. */
export function checksDescription(results: readonly CheckResult[]): string {
  const counts = (Object.keys(CHECK_WORDS) as CheckStatus[]).map(
    status => [results.filter(result => result.status === status).length, CHECK_WORDS[status]] as const,
  );
  return counts.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`])).join(' · ');
}

export const checkLabel = ({ id, status, message, fix }: CheckResult): string =>
  `Check ${id}, ${CHECK_WORDS[status]}: ${message}${fix === undefined || status === 'ok' ? '' : ` ${fix}`}`;

export function stepDescription({ summary }: FinishedStep): string {
  const { reward, entropy, branches, toolCalls, groups, tasks } = summary;
  return [
    `R ${short(reward.mean)}`,
    ...(entropy.all === undefined ? [] : [`H ${short(entropy.all)}`]),
    ...(branches === undefined ? [] : [`${branches.taken} of ${branches.asked} branched`]),
    counted(toolCalls.total, 'call'),
    // A group that teaches nothing is worth a word only where there is one.
    ...(groups.flat === undefined || groups.flat === 0
      ? []
      : [`${groups.flat} of ${tasks} without variance`]),
  ].join(' · ');
}

export function stepLabel({ step, summary }: FinishedStep): string {
  const { reward, accuracy, entropy, branches, toolCalls, groups, tasks } = summary;
  const right = accuracy === undefined ? 'not logged' : `${Math.round(accuracy * 100)} percent`;
  const nats = entropy.all === undefined ? 'not logged' : `${decimal(entropy.all, 2)} nats`;
  const flat =
    groups.flat === undefined
      ? 'groups without variance not logged'
      : `${groups.flat} of ${counted(tasks, 'group')} without variance`;
  const taken =
    branches === undefined ? 'not logged' : `${branches.taken} taken and ${branches.refused} refused`;
  return `Step ${step}, mean reward ${decimal(reward.mean, 2)}, right ${right}, entropy ${nats}, branches ${taken}, ${counted(toolCalls.total, 'tool call')}, ${flat}`;
}

/** What is grown so far of the step that is under way: `3 of 8 trees done, 2 calls under way`, then `learning`. */
export function liveStepDescription({ trees, tasks }: NonNullable<RunOutline['live']>): string {
  const done = trees.filter(({ rewards, failure }) => rewards !== undefined || failure !== undefined).length;
  if (done > 0 && done >= tasks.length) return 'learning';
  const calls = callsUnderWay(trees);
  const waiting = calls === 0 ? '' : `, ${counted(calls, 'call')} under way`;
  return `${done} of ${counted(tasks.length, 'tree')} done${waiting}`;
}

export const callsUnderWay = (trees: readonly LiveTree[]): number =>
  trees.reduce((sum, tree) => sum + openCalls(tree), 0);

/** Turns that ended by a call whose result is not there yet. */
function openCalls({ segments }: LiveTree): number {
  const answered = new Set(segments.filter(({ kind }) => kind === 'tool').map(({ parent }) => parent));
  return segments.filter(({ segment, stop }) => stop === 'call' && !answered.has(segment)).length;
}

export function treeDescription({
  reward,
  branches,
  refused,
}: Pick<TreeEntry, 'reward' | 'branches' | 'refused'>): string {
  const judged = reward === undefined ? 'not judged' : `R ${short(reward)}`;
  return branches === undefined ? judged : `${judged} · ${branches} branched, ${refused ?? 0} refused`;
}

/** `sample-1 step 12/40 · R .62 · 3 of 8 trees done`, after an icon; `live` is the step under way. */
export function statusText(run: RunSummary, live?: RunOutline['live']): string {
  const status = statusOf(run);
  const phase = status === 'running' && live ? ` · ${liveStepDescription(live)}` : '';
  return `$(${status === 'running' ? 'sync~spin' : RUN_ICONS[status].icon}) ${runTitle(run)} ${runDescription(run)}${phase}`;
}

/** `.58 [.53, .62] · greedy .84`: mean with its 95 % interval. */
export const accuracyOf = ({
  accuracy,
  interval,
  greedyAccuracy,
}: {
  accuracy: number;
  interval: readonly [number, number];
  greedyAccuracy?: number;
}): string =>
  `${short(accuracy)} [${short(interval[0])}, ${short(interval[1])}]${greedyAccuracy === undefined ? '' : ` · greedy ${short(greedyAccuracy)}`}`;

/** `Training on cpu · python: bubblewrap … · about 1 min`: what a run that has just begun runs on; its pace is that of `like` until it has its own. */
export function liveLine({ run, steps, summaries }: RunOutline, like: readonly FinishedStep[]): string {
  const paces = summaries.length > 0 ? summaries : like;
  const seconds = paces.reduce((sum, { summary }) => sum + (summary.seconds?.total ?? 0), 0);
  const minutes = Math.max(1, Math.round(((seconds / paces.length) * steps) / 60));
  const python = run?.tools.python;
  return [
    `Training on ${run?.device ?? 'a device that is not told yet'}`,
    ...(python === undefined ? [] : [`python: ${python}`]),
    ...(paces.length === 0
      ? []
      : [minutes < 90 ? `about ${minutes} min` : `about ${Math.round(minutes / 60)} h`]),
  ].join(' · ');
}
