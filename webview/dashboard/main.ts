/** The dashboard of one run: its facts as curves, live by increments. Knows nothing of files or workers. */
import type { Event } from '../../src/core/events.ts';
import type { ViewSubject } from '../../src/protocol/verbs.ts';
import { emptyState, foldInto, meanReward, type RunState } from '../../src/core/fold.ts';
import { lineChart } from '../charts/lines.ts';
import { element } from '../shared/element.ts';
import { joinHost, keepState, report } from '../shared/host.ts';
import { registerKit } from '../shared/kit.ts';
import { onThemeChange } from '../shared/theme.ts';
import { CHARTS } from './charts.ts';
import { header, type About } from './header.ts';
import { stepPanel } from './steps.ts';
import '../shared/shared.css';
import './dashboard.css';

registerKit();

let state: RunState = emptyState();
const about: About = { name: '', isLive: true };
/** Steps and evaluations that the charts have already. */
let drawn = { steps: 0, evaluations: 0 };

const host = joinHost({
  events({ from, events }) {
    if (from === 0) restart();
    take(events);
  },
  show: subject => learn(subject),
});

const top = header(command => report(host.runCommand(command)));
const steps = stepPanel(id => report(host.openTree(id)));
const charts = CHARTS.map(plan => lineChart(plan.title, plan.series, steps.select));

document.body.append(
  element(
    'main',
    {},
    top.root,
    element('div', { class: 'failure', id: 'failure', role: 'alert', hidden: true }),
    element('div', { class: 'charts' }, ...charts.map(chart => chart.root)),
    steps.root,
  ),
);
onThemeChange(() => {
  for (const chart of charts) chart.retheme();
});
report(
  host.ready().then(({ subject, name }) => {
    about.name = name;
    learn(subject);
  }),
);

/** What the facts do not say. */
function learn(subject: ViewSubject): void {
  keepState(subject);
  about.isLive = subject.isLive ?? true;
  top.update(state, about);
}

function restart(): void {
  state = emptyState();
  drawn = { steps: 0, evaluations: 0 };
  for (const chart of charts) chart.clear();
}

function take(events: readonly Event[]): void {
  // A resume voids steps that the charts show already: then they start over.
  if (events.some(event => event.type === 'resumed')) {
    drawn = { steps: 0, evaluations: 0 };
    for (const chart of charts) chart.clear();
  }
  foldInto(state, events);
  draw();
}

function draw(): void {
  for (const { step, summary } of state.summaries.slice(drawn.steps))
    CHARTS.forEach((plan, i) => charts[i]!.add(step, plan.ofStep(summary)));
  const evaluations = state.evaluations.slice(drawn.evaluations).sort((a, b) => a.step - b.step);
  for (const { step, summary } of evaluations)
    CHARTS.forEach((plan, i) => plan.ofEvaluation && charts[i]!.add(step, plan.ofEvaluation(summary)));
  const grew = state.summaries.length > drawn.steps || state.evaluations.length > drawn.evaluations;
  if (grew || drawn.steps === 0) for (const chart of charts) chart.paint();
  drawn = { steps: state.summaries.length, evaluations: state.evaluations.length };
  top.update(state, about);
  steps.update(
    state.summaries,
    state.trees.map(tree => ({
      id: tree.id,
      step: tree.step,
      task: tree.task,
      reward: meanReward(tree),
      branches: tree.branches,
      refused: tree.refused,
      paths: tree.paths,
    })),
  );
}
