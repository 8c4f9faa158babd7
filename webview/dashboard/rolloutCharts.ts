/** The dashboard's charts of how rollouts went and what they cost. Knows nothing of how they are drawn. */
import type { StepSummary } from '../../src/core/events.ts';
import type { StopReason } from '../../src/core/types.ts';
import type { ChartPlan, Group } from './plan.ts';

const perTrajectory = (count: number, { trajectories }: StepSummary): number => count / trajectories;
/** Nothing can be said of a quotient by nothing, or of what was not logged. */
const quotient = (a: number | undefined, b: number | undefined): number | undefined =>
  a !== undefined && b !== undefined && b > 0 ? a / b : undefined;

const STOPS: Record<StopReason, { label: string; colour: string; meaning: string }> = {
  answer: { label: 'answered', colour: 'charts-green', meaning: 'ended with an answer or by itself' },
  length: { label: 'out of tokens', colour: 'charts-red', meaning: 'cut at the limit of response tokens' },
  'turn-length': { label: 'turn too long', colour: 'charts-orange', meaning: 'cut at the limit of one turn' },
  'call-limit': {
    label: 'out of calls',
    colour: 'charts-yellow',
    meaning: 'asked for more tools than allowed',
  },
  'empty-call': { label: 'empty call', colour: 'charts-purple', meaning: 'called a tool with nothing' },
  call: { label: 'at a call', colour: 'charts-blue', meaning: 'ended at a tool call' },
};

const TOOL_COLOURS = ['charts-purple', 'charts-orange', 'charts-green', 'charts-yellow'];
const toolColour = (index: number): string => TOOL_COLOURS[index % TOOL_COLOURS.length]!;

const ROLLOUTS: readonly ChartPlan[] = [
  {
    title: 'Branches',
    lines: [
      {
        key: 'branches.asked',
        label: 'asked',
        colour: 'foreground',
        meaning: 'branching questions, one after each tool answer',
        of: ({ branches }) => branches?.asked,
      },
      {
        key: 'branches.taken',
        label: 'taken',
        colour: 'charts-green',
        meaning: 'answered with a child: P = α + β·ΔH won',
        of: ({ branches }) => branches?.taken,
      },
      {
        key: 'branches.refused',
        label: 'refused',
        colour: 'charts-red',
        meaning: 'refused by the gate',
        of: ({ branches }) => branches?.refused,
      },
      {
        key: 'branches.noBudget',
        label: 'no budget',
        colour: 'charts-yellow',
        dashed: true,
        meaning: 'asked when the group was full, or without tokens left for a child',
        of: ({ branches }) => branches?.noBudget,
      },
      {
        key: 'branches.filled',
        label: 'filled',
        colour: 'charts-blue',
        dashed: true,
        meaning: 'trajectories started afresh to fill the group',
        of: ({ branches }) => branches?.filled,
      },
    ],
  },
  {
    title: 'Tool calls',
    lines: [
      {
        key: 'toolCalls.total',
        label: 'all',
        colour: 'charts-blue',
        meaning: 'unique tool segments of the step',
        of: ({ toolCalls }) => toolCalls.total,
      },
      {
        key: 'toolCalls.errors',
        label: 'errors',
        colour: 'charts-red',
        dashed: true,
        meaning: 'calls that did not end with ok',
        of: ({ toolCalls }) => toolCalls.errors,
      },
    ],
    named: {
      before: 0,
      in: ({ toolCalls }) => Object.keys(toolCalls.byTool),
      line: (name, index) => ({
        key: `toolCalls.byTool.${name}`,
        label: name,
        colour: toolColour(index),
        meaning: 'calls of this tool',
        of: ({ toolCalls }) => toolCalls.byTool[name] ?? 0,
      }),
    },
  },
  {
    title: 'Tool latency (ms)',
    lines: [
      {
        key: 'toolCalls.latencyP50Ms',
        label: 'p50',
        colour: 'charts-blue',
        meaning: 'median time to a result',
        of: ({ toolCalls }) => toolCalls.latencyP50Ms,
      },
      {
        key: 'toolCalls.latencyP95Ms',
        label: 'p95',
        colour: 'charts-red',
        meaning: '95th percentile of the time to a result',
        of: ({ toolCalls }) => toolCalls.latencyP95Ms,
      },
    ],
    named: {
      in: ({ toolCalls }) => Object.keys(toolCalls.latencyP95MsByTool ?? {}),
      line: (name, index) => ({
        key: `toolCalls.latencyP95MsByTool.${name}`,
        label: `${name} p95`,
        colour: toolColour(index),
        dashed: true,
        isAside: true,
        meaning: '95th percentile of this tool',
        of: ({ toolCalls }) => toolCalls.latencyP95MsByTool?.[name],
      }),
    },
  },
  {
    title: 'Reward for a tool call',
    lines: [
      {
        key: 'reward.mean · trajectories ÷ toolCalls.total',
        label: 'reward a call',
        colour: 'charts-green',
        meaning: 'Σ reward ÷ tool calls of the step',
        of: ({ reward, trajectories, toolCalls }) => quotient(reward.mean * trajectories, toolCalls.total),
      },
      {
        key: 'toolCalls.total ÷ trajectories',
        label: 'calls a trajectory',
        colour: 'charts-blue',
        dashed: true,
        isAside: true,
        meaning: 'tool calls ÷ trajectories; shared prefixes count once',
        of: summary => perTrajectory(summary.toolCalls.total, summary),
      },
    ],
  },
  {
    title: 'Response length (tokens)',
    lines: [
      {
        key: 'responseTokens.p10',
        label: 'p10',
        colour: 'charts-blue',
        kind: 'band-low',
        meaning: '10th to 90th percentile over trajectories',
        of: ({ responseTokens }) => responseTokens?.p10,
      },
      {
        key: 'responseTokens.p90',
        label: 'p10–p90',
        colour: 'charts-blue',
        kind: 'band-high',
        meaning: '10th to 90th percentile over trajectories',
        of: ({ responseTokens }) => responseTokens?.p90,
      },
      {
        key: 'responseTokens.mean',
        label: 'mean',
        colour: 'charts-blue',
        meaning: 'tokens after the prompt, tool results included',
        of: ({ responseTokens }) => responseTokens?.mean,
      },
      {
        key: 'responseTokens.max',
        label: 'longest',
        colour: 'charts-orange',
        dashed: true,
        meaning: 'the longest trajectory of the step',
        of: ({ responseTokens }) => responseTokens?.max,
      },
    ],
  },
  {
    title: 'Ends of trajectories (share)',
    lines: [],
    named: {
      before: 0,
      in: ({ stops }) => Object.keys(stops),
      line: name => ({
        ...STOPS[name as StopReason],
        key: `stops.${name} ÷ trajectories`,
        dashed: name !== 'answer',
        of: summary => perTrajectory(summary.stops[name as StopReason] ?? 0, summary),
      }),
    },
  },
  {
    title: 'Turns',
    lines: [
      {
        key: 'turns.mean',
        label: 'mean',
        colour: 'charts-blue',
        meaning: 'model turns of a trajectory',
        of: ({ turns }) => turns?.mean,
      },
      {
        key: 'turns.max',
        label: 'most',
        colour: 'charts-orange',
        dashed: true,
        meaning: 'most turns of a trajectory of the step',
        of: ({ turns }) => turns?.max,
      },
    ],
  },
];

const MEBIBYTE = 2 ** 20;
const mebibytes = (bytes: number | undefined): number | undefined =>
  bytes === undefined ? undefined : bytes / MEBIBYTE;

const COST: readonly ChartPlan[] = [
  {
    title: 'Throughput (tokens/s)',
    lines: [
      {
        key: 'tokens.sampled ÷ seconds.rollout',
        label: 'sampled',
        colour: 'charts-blue',
        meaning: 'tokens drawn ÷ seconds of rollout, tools included',
        of: ({ tokens, seconds }) => quotient(tokens?.sampled, seconds?.rollout),
      },
      {
        key: 'tokens.trained ÷ seconds.learn',
        label: 'trained',
        colour: 'charts-orange',
        meaning: 'tokens with a gradient ÷ seconds of learning',
        of: ({ tokens, seconds }) => quotient(tokens?.trained, seconds?.learn),
      },
    ],
  },
  {
    title: 'Seconds by phase',
    lines: [
      {
        key: 'seconds.total',
        label: 'step',
        colour: 'foreground',
        meaning: 'the whole step',
        of: ({ seconds }) => seconds?.total,
      },
      {
        key: 'seconds.rollout',
        label: 'rollout',
        colour: 'charts-blue',
        meaning: 'growing and judging the trees',
        of: ({ seconds }) => seconds?.rollout,
      },
      {
        key: 'seconds.learn',
        label: 'learn',
        colour: 'charts-orange',
        meaning: 'credit, scores, gradients and updates',
        of: ({ seconds }) => seconds?.learn,
      },
    ],
  },
  {
    title: 'Memory (MiB)',
    lines: [
      {
        key: 'memory.worker',
        label: 'worker',
        colour: 'charts-blue',
        meaning: 'resident memory of the worker after learning',
        of: ({ memory }) => mebibytes(memory?.worker),
      },
      {
        key: 'memory.engine',
        label: 'engine',
        colour: 'charts-orange',
        meaning: 'resident memory of the engine’s process after learning',
        of: ({ memory }) => mebibytes(memory?.engine),
      },
      {
        key: 'memory.gpu',
        label: 'GPU',
        colour: 'charts-purple',
        meaning: 'memory of the graphics device; no engine tells it yet',
        of: () => undefined,
      },
    ],
  },
];

export const ROLLOUT_CHARTS: readonly Group[] = [
  { title: 'Rollouts', charts: ROLLOUTS },
  { title: 'Cost', charts: COST },
];
