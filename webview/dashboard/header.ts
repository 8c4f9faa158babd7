/** What stands above the charts: the run's name, state, pace and buttons. Knows nothing of the charts. */
import type { RunState } from '../../src/core/fold.ts';
import type { HostVerbs } from '../../src/protocol/verbs.ts';
import { element } from '../shared/element.ts';
import { duration, number, percent } from '../shared/format.ts';

type Command = Parameters<HostVerbs['runCommand']>[0];

/** Steps that the pace is averaged over. */
const PACE_STEPS = 10;

const BUTTONS: readonly { command: Command; label: string; shown(state: RunState): boolean }[] = [
  { command: 'pause', label: 'Pause', shown: ({ status }) => status === 'running' },
  {
    command: 'resume',
    label: 'Resume',
    shown: ({ status }) => status === 'paused' || status === 'stopped' || status === 'failed',
  },
  { command: 'stop', label: 'Stop', shown: ({ status }) => status === 'running' || status === 'paused' },
  { command: 'evaluate', label: 'Evaluate', shown: ({ checkpoints }) => checkpoints.length > 0 },
  { command: 'openConfig', label: 'Config', shown: () => true },
];

export function header(run: (command: Command) => void): {
  root: HTMLElement;
  update(state: RunState): void;
} {
  const title = element('h1');
  const line = element('p', { class: 'quiet', role: 'status', 'aria-live': 'polite' });
  const origin = element('p', { class: 'quiet' });
  const warning = element('p', { class: 'warning', hidden: true });
  const buttons = BUTTONS.map(({ command, label }) =>
    element(
      'vscode-button',
      {
        appearance: command === 'stop' ? 'primary' : 'secondary',
        hidden: true,
        onclick: () => run(command),
        'data-command': command,
      },
      label,
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
  const update = (state: RunState): void => {
    title.textContent = state.run?.run ?? 'Run';
    line.textContent = pace(state);
    origin.textContent = provenance(state);
    BUTTONS.forEach(({ shown }, i) => (buttons[i]!.hidden = !shown(state)));
    const failure = state.failure ?? state.warnings.at(-1)?.failure;
    warning.hidden = failure === undefined;
    if (failure) warning.textContent = [failure.message, failure.fix].filter(Boolean).join(' ');
  };
  return { root, update };
}

function pace(state: RunState): string {
  const recent = state.summaries.slice(-PACE_STEPS);
  const last = recent.at(-1)?.summary;
  const parts = [state.status, `step ${last ? state.summaries.at(-1)!.step : 0} of ${state.steps}`];
  if (last) {
    const seconds = recent.reduce((sum, { summary }) => sum + summary.seconds.total, 0) / recent.length;
    parts.push(`${duration(seconds)} a step`);
    if (state.status === 'running') parts.push(`${duration(seconds * (state.steps - state.step))} left`);
    parts.push(`reward ${number(last.reward.mean)}`, `${percent(last.accuracy)} right`);
  }
  if (state.live) {
    const segments = state.live.trees.reduce((sum, tree) => sum + tree.segments.length, 0);
    parts.push(`growing step ${state.live.step}: ${segments} segments`);
  }
  return parts.join(' · ');
}

function provenance({ run, evaluations }: RunState): string {
  if (!run) return '';
  const tools = Object.entries(run.tools).map(([tag, description]) => `${tag}: ${description}`);
  const parts = [`${number(run.parameters)} parameters`, run.device, `seed ${run.seed}`, ...tools];
  const [first, last] = [evaluations[0], evaluations.at(-1)];
  if (first) parts.push(`held-out ${percent(first.summary.accuracy)} at step ${first.step}`);
  if (last && last !== first) parts.push(`${percent(last.summary.accuracy)} at step ${last.step}`);
  return parts.join(' · ');
}
