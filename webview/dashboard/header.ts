/** What stands above the charts: the run's name, state, pace and buttons. Knows nothing of the charts. */
import type { FinishedStep, RunState } from '../../src/core/fold.ts';
import { TREND_SIGNS, TREND_STEPS, trendOf } from '../../src/core/trend.ts';
import type { HostVerbs } from '../../src/protocol/verbs.ts';
import { element } from '../shared/element.ts';
import { duration, number, percent } from '../shared/format.ts';

type Command = Parameters<HostVerbs['runCommand']>[0];

/** Steps that the pace is averaged over, and that a trend is seen in. */
const PACE_STEPS = TREND_STEPS;

const LINE = { class: 'quiet', role: 'status', 'aria-live': 'polite' };

/** What is known of a run beside its facts. */
export interface About {
  /** The run folder's name. */
  name: string;
  /** Whether a worker owns it. */
  isLive: boolean;
  /** Whether it recorded what differed from the commit that it was started at. */
  hasGitDiff: boolean;
}

type Status = RunState['status'] | 'interrupted' | 'imported';
/** What can be asked of a run, by its status. */
const ASKS: Record<Status, readonly Command[]> = {
  starting: ['stop'],
  running: ['pause', 'stop'],
  paused: ['resume', 'stop'],
  finished: [],
  stopped: ['resume'],
  failed: ['resume'],
  interrupted: ['resume'],
  imported: [],
};

const LABELS: Record<Command, string> = {
  pause: 'Pause',
  resume: 'Resume',
  stop: 'Stop',
  evaluate: 'Evaluate',
  openConfig: 'Config',
  gitDiff: 'Git Diff',
  diagnosis: 'Diagnosis',
  trainLive: 'Train Live',
};
const MEANINGS: Partial<Record<Command, string>> = {
  openConfig: 'Opens the file that the run was started from.',
  gitDiff: 'Opens what differed from the commit that the run was started at.',
  diagnosis: 'Collects configuration, checks, failures and the last facts in one text, to ask somebody with.',
  trainLive: 'Trains the same configuration again, here and now.',
};
const BUTTONS = Object.keys(LABELS) as Command[];

/** A run whose worker is gone without having told the end was interrupted. No worker of ours owns an imported one. */
const statusOf = ({ status, run }: RunState, { isLive }: About): Status =>
  run?.source !== undefined ? 'imported' : !isLive && ASKS[status].includes('stop') ? 'interrupted' : status;

function isShown(command: Command, state: RunState, about: About): boolean {
  if (state.run?.source !== undefined) return false;
  if (command === 'openConfig') return true;
  if (command === 'gitDiff') return about.hasGitDiff;
  // Of a run that goes well there is nothing to ask.
  if (command === 'diagnosis')
    return (
      state.failure !== undefined || state.warnings.length > 0 || statusOf(state, about) === 'interrupted'
    );
  // What a worker owns is being trained already.
  if (command === 'trainLive') return !about.isLive;
  if (command === 'evaluate') return state.checkpoints.length > 0;
  return ASKS[statusOf(state, about)].includes(command);
}

export function header(run: (command: Command) => void): {
  root: HTMLElement;
  update(state: RunState, about: About): void;
} {
  const title = element('h1');
  const line = element('p', LINE);
  const origin = element('p', { class: 'quiet' });
  const warning = element('p', { class: 'warning', hidden: true });
  const buttons = BUTTONS.map(command =>
    element(
      'vscode-button',
      {
        appearance: command === 'trainLive' ? 'primary' : 'secondary',
        ...(MEANINGS[command] !== undefined && { title: MEANINGS[command] }),
        hidden: true,
        onclick: () => run(command),
        'data-command': command,
      },
      LABELS[command],
    ),
  );
  const root = element(
    'header',
    {},
    element(
      'div',
      { class: 'title' },
      title,
      element('div', { class: 'buttons', role: 'toolbar', 'aria-label': 'Run' }, ...buttons),
    ),
    line,
    origin,
    warning,
  );
  const update = (state: RunState, about: About): void => {
    title.textContent = about.name;
    const said = pace(state, statusOf(state, about));
    // What stays the same is not announced again.
    if (!line.isEqualNode(said)) line.replaceChildren(...said.childNodes);
    origin.textContent = provenance(state);
    BUTTONS.forEach((command, i) => (buttons[i]!.hidden = !isShown(command, state, about)));
    const failure = state.failure ?? state.warnings.at(-1)?.failure;
    warning.hidden = failure === undefined;
    if (failure) warning.textContent = [failure.message, failure.fix].filter(Boolean).join(' ');
  };
  return { root, update };
}

/** As the line has it. */
function pace(state: RunState, status: Status): HTMLElement {
  const recent = state.summaries.slice(-PACE_STEPS);
  const last = recent.at(-1)?.summary;
  const planned = state.steps > 0 ? ` of ${state.steps}` : '';
  const name = status === 'imported' ? `imported from ${state.run?.source ?? 'elsewhere'}` : status;
  const parts: (string | HTMLElement)[] = [name, `step ${last ? state.summaries.at(-1)!.step : 0}${planned}`];
  if (last) {
    const timed = recent.flatMap(({ summary }) => summary.seconds?.total ?? []);
    const seconds = timed.reduce((sum, total) => sum + total, 0) / timed.length;
    if (timed.length > 0) parts.push(`${duration(seconds)} a step`);
    if (timed.length > 0 && status === 'running')
      parts.push(`${duration(seconds * (state.steps - state.step))} left`);
    parts.push(reward(recent), `${percent(last.accuracy)} right`);
  }
  if (state.live && status === 'running') {
    const segments = state.live.trees.reduce((sum, tree) => sum + tree.segments.length, 0);
    parts.push(`growing step ${state.live.step}: ${segments} segments`);
  }
  return element('p', LINE, ...parts.flatMap((part, i) => (i === 0 ? [part] : [' · ', part])));
}

/** The last step's, and whether it rises or falls. */
function reward(recent: readonly FinishedStep[]): HTMLElement {
  const means = recent.map(({ summary }) => summary.reward.mean);
  const trend = trendOf(means);
  const meaning = `Mean reward of the last step${trend === undefined ? '' : `, ${trend} over the last ${recent.length}`}`;
  return element(
    'span',
    { title: meaning },
    `reward ${number(means.at(-1))}`,
    ...(trend === undefined
      ? []
      : [
          element('span', { 'aria-hidden': true, class: 'trend' }, ` ${TREND_SIGNS[trend]}`),
          element('span', { class: 'visually-hidden' }, ` and ${trend}`),
        ]),
  );
}

function provenance({ run, evaluations }: RunState): string {
  if (!run) return '';
  const tools = Object.entries(run.tools).map(([tag, description]) => `${tag}: ${description}`);
  if (run.source !== undefined)
    return 'Read from the rollouts that it wrote; what they do not tell is not logged. Nothing is written beside them.';
  const parts = [`${number(run.parameters)} parameters`, run.device, `seed ${run.seed}`, ...tools];
  const [first, last] = [evaluations[0], evaluations.at(-1)];
  if (first) parts.push(`held-out ${percent(first.summary.accuracy)} at step ${first.step}`);
  if (last && last !== first) parts.push(`${percent(last.summary.accuracy)} at step ${last.step}`);
  return parts.join(' · ');
}
