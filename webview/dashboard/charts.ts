/** Which charts the dashboard has, and which numbers of a step they show. Knows nothing of how they are drawn. */
import type { ChartPlan, EvaluationPlan, Group } from './plan.ts';
import { ROLLOUT_CHARTS } from './rolloutCharts.ts';

const COLOURS = ['charts-orange', 'charts-purple', 'charts-yellow', 'charts-red', 'charts-green'];
const colourOf = (index: number): string => COLOURS[index % COLOURS.length]!;

export const EVALUATIONS: EvaluationPlan = {
  title: 'Held-out accuracy',
  lines: [
    {
      key: 'evaluated.interval[0]',
      label: 'low',
      colour: 'charts-green',
      kind: 'band-low',
      meaning: '95 % bootstrap interval over tasks',
      of: ({ interval }) => interval[0],
    },
    {
      key: 'evaluated.interval[1]',
      label: '95 %',
      colour: 'charts-green',
      kind: 'band-high',
      meaning: '95 % bootstrap interval over tasks',
      of: ({ interval }) => interval[1],
    },
    {
      key: 'evaluated.accuracy',
      label: 'sampled',
      colour: 'charts-green',
      meaning: 'right answers ÷ samples, at the sampling temperature',
      of: ({ accuracy }) => accuracy,
    },
    {
      key: 'evaluated.greedyAccuracy',
      label: 'greedy',
      colour: 'charts-orange',
      dashed: true,
      meaning: 'right answers ÷ tasks, one greedy trajectory each',
      of: ({ greedyAccuracy }) => greedyAccuracy,
    },
  ],
};

const OUTCOME: readonly ChartPlan[] = [
  {
    title: 'Reward',
    lines: [
      {
        key: 'reward.p10',
        label: 'p10',
        colour: 'charts-blue',
        kind: 'band-low',
        meaning: '10th to 90th percentile over trajectories',
        of: ({ reward }) => reward.p10,
      },
      {
        key: 'reward.p90',
        label: 'p10–p90',
        colour: 'charts-blue',
        kind: 'band-high',
        meaning: '10th to 90th percentile over trajectories',
        of: ({ reward }) => reward.p90,
      },
      {
        key: 'reward.mean',
        label: 'mean',
        colour: 'charts-blue',
        meaning: 'Σ reward ÷ trajectories of the step',
        of: ({ reward }) => reward.mean,
      },
      {
        key: 'accuracy',
        label: 'right',
        colour: 'charts-green',
        dashed: true,
        meaning: 'trajectories with the right answer ÷ all',
        of: ({ accuracy }) => accuracy,
      },
    ],
    named: {
      in: ({ reward }) => Object.keys(reward.parts),
      line: (name, index) => ({
        key: `reward.parts.${name}`,
        label: name,
        colour: colourOf(index),
        dashed: true,
        isAside: true,
        meaning:
          'mean of this part; the parts add up to the mean reward (in imported runs: numbers logged beside it)',
        of: ({ reward }) => reward.parts[name],
      }),
    },
  },
  {
    title: 'Groups',
    lines: [
      {
        key: 'groups.mixed',
        label: 'mixed',
        colour: 'charts-blue',
        meaning: 'groups with right and wrong answers',
        of: ({ groups }) => groups.mixed,
      },
      {
        key: 'groups.allRight',
        label: 'all right',
        colour: 'charts-green',
        dashed: true,
        meaning: 'groups without a wrong answer',
        of: ({ groups }) => groups.allRight,
      },
      {
        key: 'groups.allWrong',
        label: 'all wrong',
        colour: 'charts-red',
        dashed: true,
        meaning: 'groups without a right answer',
        of: ({ groups }) => groups.allWrong,
      },
      {
        key: 'groups.flat',
        label: 'no variance',
        colour: 'charts-yellow',
        isAside: true,
        meaning: 'groups without any advantage, for all their rewards are equal: they teach nothing',
        of: ({ groups }) => groups.flat,
      },
    ],
  },
];

const POLICY: readonly ChartPlan[] = [
  {
    title: 'Entropy (nats)',
    lines: [
      {
        key: 'entropy.all',
        label: 'all',
        colour: 'charts-purple',
        meaning: 'mean of −Σ p·log p over all model tokens',
        of: ({ entropy }) => entropy.all,
      },
      {
        key: 'entropy.afterTool',
        label: 'after a tool answer',
        colour: 'charts-red',
        meaning: 'Hₜ: mean over the first tokens after a tool result',
        of: ({ entropy }) => entropy.afterTool,
      },
      {
        key: 'entropy.initial',
        label: 'first turn',
        colour: 'charts-blue',
        dashed: true,
        meaning: 'H₀: mean over the first tokens after the prompt',
        of: ({ entropy }) => entropy.initial,
      },
    ],
  },
  {
    title: 'Entropy by turn (nats)',
    lines: [],
    named: {
      in: ({ entropy }) => (entropy.byTurn ?? []).slice(0, 5).map((_, turn) => String(turn)),
      line: (name, index) => ({
        key: `entropy.byTurn[${name}]`,
        label: `turn ${Number(name) + 1}`,
        colour: ['charts-blue', 'charts-purple', 'charts-red', 'charts-orange', 'charts-yellow'][index]!,
        dashed: index > 2,
        meaning: 'mean over the model tokens of this turn',
        of: ({ entropy }) => entropy.byTurn?.[Number(name)],
      }),
    },
  },
  {
    title: 'KL',
    lines: [
      {
        key: 'kl',
        label: 'to the reference',
        colour: 'charts-purple',
        meaning: 'k3: mean of e^q − q − 1, q = log π_ref − log π',
        of: ({ kl }) => kl,
      },
      {
        key: 'approximateKl',
        label: 'old to new',
        colour: 'charts-orange',
        dashed: true,
        meaning: 'mean of log π_old − log π over the updates’ terms; 0 where a step has one update',
        of: ({ approximateKl }) => approximateKl,
      },
    ],
  },
  {
    title: 'Clipped share',
    lines: [
      {
        key: 'clipFractions.high',
        label: 'high',
        colour: 'charts-red',
        meaning:
          'terms with ratio above 1 + ε_high and A > 0 (CISPO: any A) ÷ all terms of groups that teach',
        of: ({ clipFractions }) => clipFractions?.high,
      },
      {
        key: 'clipFractions.low',
        label: 'low',
        colour: 'charts-blue',
        meaning: 'terms with ratio below 1 − ε_low and A < 0 (CISPO: any A) ÷ all terms of groups that teach',
        of: ({ clipFractions }) => clipFractions?.low,
      },
      {
        key: 'clipFractions.dual',
        label: 'dual',
        colour: 'charts-yellow',
        dashed: true,
        meaning: 'terms with A < 0 held at c·A by the dual clip ÷ all terms of groups that teach',
        of: ({ clipFractions }) => clipFractions?.dual,
      },
      {
        key: 'clipFraction',
        label: 'all',
        colour: 'foreground',
        dashed: true,
        isAside: true,
        meaning: 'high + low + dual',
        of: ({ clipFraction }) => clipFraction,
      },
    ],
  },
  {
    title: 'Gradient norm',
    lines: [
      {
        key: 'gradientNorm',
        label: 'norm',
        colour: 'charts-orange',
        meaning: '‖∇L‖₂ over all weights, before clipping, mean over updates',
        of: ({ gradientNorm }) => gradientNorm,
      },
      {
        key: 'skippedUpdates',
        label: 'skipped updates',
        colour: 'charts-red',
        dashed: true,
        isAside: true,
        meaning: 'updates whose gradient was not finite',
        of: ({ skippedUpdates }) => skippedUpdates,
      },
    ],
  },
  {
    title: 'Loss',
    lines: [
      {
        key: 'loss',
        label: 'loss',
        colour: 'charts-blue',
        meaning:
          'clipped policy loss + KL and entropy terms, mean over updates; near 0 is normal, advantages centre on 0',
        of: ({ loss }) => loss,
      },
    ],
  },
  {
    title: 'Mismatch |Δ log p|',
    lines: [
      {
        key: 'mismatch.mean',
        label: 'mean',
        colour: 'charts-red',
        meaning: 'mean of |log p sampler − log p trainer| over drawn tokens',
        of: ({ mismatch }) => mismatch?.mean,
      },
      {
        key: 'mismatch.p99',
        label: 'p99',
        colour: 'charts-orange',
        dashed: true,
        meaning: '99th percentile of the same',
        of: ({ mismatch }) => mismatch?.p99,
      },
      {
        key: 'mismatch.max',
        label: 'largest',
        colour: 'charts-purple',
        dashed: true,
        isAside: true,
        meaning: 'largest of the same',
        of: ({ mismatch }) => mismatch?.max,
      },
      {
        key: 'mismatch.correlation',
        label: 'r',
        colour: 'foreground',
        isAside: true,
        meaning: 'Pearson’s r of sampler’s and trainer’s log p: 1 where they agree',
        of: ({ mismatch }) => mismatch?.correlation,
      },
    ],
  },
];

export const GROUPS: readonly Group[] = [
  { title: 'Outcome', charts: [OUTCOME[0]!, EVALUATIONS, ...OUTCOME.slice(1)] },
  { title: 'Policy', charts: POLICY },
  ...ROLLOUT_CHARTS,
];

export const isOfSteps = (plan: ChartPlan | EvaluationPlan): plan is ChartPlan => plan !== EVALUATIONS;
