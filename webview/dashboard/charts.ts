/** Which charts the dashboard has, and which numbers of a step they show. Knows nothing of how they are drawn. */
import type { EvaluationSummary, StepSummary } from '../../src/core/events.ts';
import type { Series } from '../charts/lines.ts';

type Value = number | undefined;

export interface ChartPlan {
  title: string;
  series: readonly Series[];
  /** One value per series. */
  ofStep(summary: StepSummary): Value[];
  /** Only where evaluations are shown too. */
  ofEvaluation?(summary: EvaluationSummary): Value[];
}

export const CHARTS: readonly ChartPlan[] = [
  {
    title: 'Reward',
    series: [
      { label: 'p10', colour: 'charts-blue', kind: 'band-low', meaning: 'summary.reward.p10' },
      { label: 'p10–p90', colour: 'charts-blue', kind: 'band-high', meaning: 'summary.reward.p90' },
      {
        label: 'mean',
        colour: 'charts-blue',
        meaning: 'mean reward of the step’s trajectories (summary.reward.mean)',
      },
      {
        label: 'right',
        colour: 'charts-green',
        dashed: true,
        meaning: 'share with the right answer (summary.accuracy)',
      },
    ],
    ofStep: ({ reward, accuracy }) => [reward.p10, reward.p90, reward.mean, accuracy],
  },
  {
    title: 'Held-out accuracy',
    series: [
      {
        label: 'sampled',
        colour: 'charts-green',
        meaning: 'mean over tasks and samples (evaluated.accuracy)',
      },
      {
        label: 'greedy',
        colour: 'charts-orange',
        dashed: true,
        meaning: 'one greedy trajectory per task (evaluated.greedyAccuracy)',
      },
    ],
    ofStep: () => [],
    ofEvaluation: ({ accuracy, greedyAccuracy }) => [accuracy, greedyAccuracy],
  },
  {
    title: 'Entropy (nats)',
    series: [
      { label: 'all', colour: 'charts-purple', meaning: 'mean over model tokens (summary.entropy.all)' },
      {
        label: 'after a tool answer',
        colour: 'charts-red',
        meaning: 'first tokens after a tool result (summary.entropy.afterTool)',
      },
      {
        label: 'first turn',
        colour: 'charts-blue',
        dashed: true,
        meaning: 'first tokens after the prompt (summary.entropy.initial)',
      },
    ],
    ofStep: ({ entropy }) => [entropy.all, entropy.afterTool, entropy.initial],
  },
  {
    title: 'Branches',
    series: [
      {
        label: 'taken',
        colour: 'charts-green',
        meaning: 'questions answered with a child (summary.branches.taken)',
      },
      {
        label: 'refused',
        colour: 'charts-red',
        meaning: 'questions that the gate refused (summary.branches.refused)',
      },
      {
        label: 'budget spent',
        colour: 'charts-yellow',
        dashed: true,
        meaning: 'asked when the group was full (summary.branches.noBudget)',
      },
      {
        label: 'filled',
        colour: 'charts-blue',
        dashed: true,
        meaning: 'trajectories started afresh to fill the group (summary.branches.filled)',
      },
    ],
    ofStep: ({ branches }) => [branches.taken, branches.refused, branches.noBudget, branches.filled],
  },
  {
    title: 'Tool calls',
    series: [
      {
        label: 'all',
        colour: 'charts-blue',
        meaning: 'unique tool segments of the step (summary.toolCalls.total)',
      },
      { label: 'search', colour: 'charts-purple', meaning: 'summary.toolCalls.byTool.search' },
      { label: 'python', colour: 'charts-orange', meaning: 'summary.toolCalls.byTool.python' },
      {
        label: 'errors',
        colour: 'charts-red',
        dashed: true,
        meaning: 'outcomes other than ok (summary.toolCalls.errors)',
      },
    ],
    ofStep: ({ toolCalls }) => [
      toolCalls.total,
      toolCalls.byTool['search'],
      toolCalls.byTool['python'],
      toolCalls.errors,
    ],
  },
  {
    title: 'Groups',
    series: [
      {
        label: 'mixed',
        colour: 'charts-blue',
        meaning: 'groups that teach: some right, some wrong (summary.groups.mixed)',
      },
      { label: 'all right', colour: 'charts-green', meaning: 'summary.groups.allRight' },
      { label: 'all wrong', colour: 'charts-red', meaning: 'summary.groups.allWrong' },
    ],
    ofStep: ({ groups }) => [groups.mixed, groups.allRight, groups.allWrong],
  },
  {
    title: 'Loss',
    series: [
      {
        label: 'loss',
        colour: 'charts-blue',
        meaning: 'clipped policy loss of the last update (summary.loss)',
      },
    ],
    ofStep: ({ loss }) => [loss],
  },
  {
    title: 'Gradient norm',
    series: [
      {
        label: 'gradient norm',
        colour: 'charts-orange',
        meaning: 'global norm before clipping (summary.gradientNorm)',
      },
    ],
    ofStep: ({ gradientNorm }) => [gradientNorm],
  },
];
