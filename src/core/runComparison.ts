/** Runs side by side: which are the same but for their seed, how the others differ, and what each came to. Knows nothing of files or charts. */
import { estimate, type Estimate, type Range } from './bootstrap.ts';
import type { StepSummary } from './events.ts';
import type { FinishedStep, RunOutline } from './fold.ts';
import { streamKey } from './random.ts';
import { glance } from './stepColumns.ts';
import { crossing, meanHeight, trailingMeans, type Curve } from './runCurves.ts';

/** What a run was started from. */
export interface RunFacts {
  folder: string;
  name: string;
  /** As resolved. */
  config: object;
  hashes: Readonly<Record<string, string>>;
  versions: Readonly<Record<string, string>>;
  isLive: boolean;
}

/** Runs that differ in their seed only. */
export interface RunGroup {
  name: string;
  /** Indices of the runs. */
  runs: number[];
  seeds: number[];
}

/** A key that is not the same in all runs, and its value in each; undefined where a run has none. */
export interface Difference {
  key: string;
  values: (string | undefined)[];
}

/** Keys that change nothing of what a run computes, beside the seed. */
export const GROUP_BLIND = ['seed', 'name', 'runs', 'threads'] as const;
const isBlind = (key: string): boolean => (GROUP_BLIND as readonly string[]).includes(key);

/** Values by dotted key; lists as one text. */
function flat(value: object, prefix = ''): [string, string][] {
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]): [string, string][] =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? flat(inner, `${prefix}${key}.`)
      : [[prefix + key, typeof inner === 'string' ? inner : JSON.stringify(inner)]],
  );
}

/** What two runs may differ by. */
type Compared = Pick<RunFacts, 'config' | 'hashes' | 'versions'>;

const valuesOf = ({ config, hashes, versions }: Compared): Map<string, string> =>
  new Map([...flat(config), ...flat({ hash: hashes, version: versions })]);

/** All that differs, by key in the config's order; files by their hash, programs by their version. */
export function differencesOf(runs: readonly Compared[]): Difference[] {
  const values = runs.map(valuesOf);
  const keys = [...new Set(values.flatMap(of => [...of.keys()]))].filter(key => key !== 'name');
  return keys
    .map(key => ({ key, values: values.map(of => of.get(key)) }))
    .filter(({ values }) => new Set(values).size > 1);
}

/** Runs by what they compute: config and files, whatever the seed. In the order of their first runs. */
export function groupsOf(runs: readonly RunFacts[]): RunGroup[] {
  const groups = new Map<string, number[]>();
  runs.forEach((run, index) => {
    const kept = [...flat(run.config), ...flat({ hash: run.hashes })].filter(([key]) => !isBlind(key));
    const key = JSON.stringify(kept.sort(([a], [b]) => (a < b ? -1 : 1)));
    groups.set(key, [...(groups.get(key) ?? []), index]);
  });
  const taken = new Map<string, number>();
  return [...groups.values()].map(indices => {
    const name = commonName(indices.map(index => runs[index]!.name));
    const times = (taken.get(name) ?? 0) + 1;
    taken.set(name, times);
    return {
      name: times === 1 ? name : `${name} (${times})`,
      runs: indices,
      seeds: indices.map(index => seedOf(runs[index]!)),
    };
  });
}

const seedOf = ({ config }: RunFacts): number => Number((config as { seed?: unknown }).seed);

/** What the names begin with, without what hangs over. */
function commonName([first = '', ...others]: readonly string[]): string {
  if (others.length === 0) return first;
  let length = first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length--;
  return first.slice(0, length).replace(/[-_ ]?(seed)?[-_ ]*$/, '') || first;
}

/** Steps whose mean stands for a moment of training, because one step's tasks are few. */
export const SMOOTHED_STEPS = 5;

/** What a group of runs came to. Means are over its runs; an interval without width says that there is one run only. */
export interface GroupOutcome {
  group: RunGroup;
  /** [run] last finished step. */
  steps: number[];
  /** Reward of the last steps, the best so many steps in a row, and the mean over the steps that all compared runs have. */
  final?: Estimate;
  best?: Estimate;
  area?: Estimate;
  /** [run] tool calls until the reward of so many steps reached the target; null where it never did. */
  callsToTarget: (number | null)[];
  /** Over the runs that reached it. */
  meanCallsToTarget?: Estimate;
  /** In all so far. */
  toolCalls?: Estimate;
  sampledTokens?: Estimate;
  seconds?: Estimate;
  /** Accuracy of the last evaluation; absent where a run has none. */
  heldOut?: Estimate;
  /** Of the last steps, in the mean over trajectories: tool calls grown for each, its model turns and its response's tokens. */
  callsEach?: Estimate;
  turns?: Estimate;
  responseTokens?: Estimate;
  /** Entropy of the tokens after a tool's result in the last steps, nats. */
  afterTool?: Estimate;
  /** Share of each tool in the calls of the last steps, the largest first: in the mean over the runs that called any. */
  tools: [tag: string, share: number][];
}

/** Outcomes of the groups, with tool calls until the reward reached a target. `states` are those of the runs. */
export function outcomesOf(
  groups: readonly RunGroup[],
  states: readonly RunOutline[],
  target: number,
): GroupOutcome[] {
  const common = Math.min(...states.map(({ summaries }) => summaries.at(-1)?.step ?? 0));
  return groups.map(group => {
    const own = group.runs.map(run => measure(states[run]!, common));
    const of = (name: Estimated): Partial<Record<Estimated, Estimate>> => {
      const values = own.flatMap(run => run?.[name] ?? []);
      return values.length < own.length ? {} : { [name]: over(values, name) };
    };
    const callsToTarget = own.map(run => (run ? crossing(run.smoothed, target) : null));
    const reached = callsToTarget.filter(calls => calls !== null);
    return {
      group,
      steps: group.runs.map(run => states[run]!.summaries.at(-1)?.step ?? 0),
      ...of('final'),
      ...of('best'),
      ...of('area'),
      ...of('toolCalls'),
      ...of('sampledTokens'),
      ...of('seconds'),
      ...of('heldOut'),
      ...of('callsEach'),
      ...of('turns'),
      ...of('responseTokens'),
      ...of('afterTool'),
      tools: mixOf(own.flatMap(run => (run === undefined ? [] : [run.tools]))),
      callsToTarget,
      ...(reached.length > 0 && { meanCallsToTarget: over(reached, 'callsToTarget') }),
    };
  });
}

/** Where a number cannot go: counts and times below 0, shares above 1. Rewards may be anything. */
const RANGES: Readonly<Record<string, Range>> = {
  toolCalls: [0, Infinity],
  sampledTokens: [0, Infinity],
  seconds: [0, Infinity],
  callsToTarget: [0, Infinity],
  heldOut: [0, 1],
  callsEach: [0, Infinity],
  turns: [0, Infinity],
  responseTokens: [0, Infinity],
  afterTool: [0, Infinity],
};

const over = (values: readonly number[], name: string): Estimate =>
  estimate(
    values.map(value => [value]),
    streamKey('runs', name),
    RANGES[name],
  );

interface Measured {
  final: number;
  best: number;
  area: number | undefined;
  toolCalls: number;
  sampledTokens: number | undefined;
  seconds: number | undefined;
  heldOut: number | undefined;
  /** Reward of so many steps over tool calls. */
  smoothed: Curve;
  callsEach: number;
  turns: number | undefined;
  responseTokens: number | undefined;
  afterTool: number | undefined;
  /** Calls of the last steps by tool. */
  tools: Readonly<Record<string, number>>;
}

type Estimated = Exclude<keyof Measured, 'smoothed' | 'tools'>;

/** Mean over the runs of each tool's share of the run's calls. */
function mixOf(runs: readonly Measured['tools'][]): [tag: string, share: number][] {
  const shares = runs.flatMap(calls => {
    const total = Object.values(calls).reduce((sum, count) => sum + count, 0);
    return total === 0 ? [] : [Object.entries(calls).map(([tag, count]) => [tag, count / total] as const)];
  });
  const sums = new Map<string, number>();
  for (const [tag, share] of shares.flat()) sums.set(tag, (sums.get(tag) ?? 0) + share / shares.length);
  return [...sums].sort(([, a], [, b]) => b - a);
}

/** Undefined where one of the numbers was not logged. */
function wholeSum(values: readonly (number | undefined)[]): number | undefined {
  const logged = values.filter(value => value !== undefined);
  return logged.length < values.length ? undefined : logged.reduce((sum, value) => sum + value, 0);
}

/** What the policy did in some steps. */
function behaviour(
  steps: readonly FinishedStep[],
): Pick<Measured, 'callsEach' | 'turns' | 'responseTokens' | 'afterTool' | 'tools'> {
  const each = <T>(of: (summary: StepSummary) => T): T[] => steps.map(step => of(glance(step)));
  const mean = (values: readonly (number | undefined)[]): number | undefined => {
    const sum = wholeSum(values);
    return sum === undefined || values.length === 0 ? undefined : sum / values.length;
  };
  const tools: Record<string, number> = {};
  for (const [tag, calls] of each(({ toolCalls }) => Object.entries(toolCalls.byTool)).flat())
    // A glance names the tools of all steps, also those that were not called in this one.
    if (calls > 0) tools[tag] = (tools[tag] ?? 0) + calls;
  return {
    callsEach: mean(each(({ toolCalls, trajectories }) => toolCalls.total / trajectories))!,
    turns: mean(each(({ turns }) => turns?.mean)),
    responseTokens: mean(each(({ responseTokens }) => responseTokens?.mean)),
    // Steps without a tool's result have none.
    afterTool: mean(each(({ entropy }) => entropy.afterTool).filter(value => value !== undefined)),
    tools,
  };
}

/** A run's numbers; undefined before its first step is done. */
function measure({ summaries, evaluations }: RunOutline, common: number): Measured | undefined {
  if (summaries.length === 0) return undefined;
  const rewards = summaries.map(step => glance(step).reward.mean);
  const smoothed = trailingMeans(rewards, SMOOTHED_STEPS);
  const sums = (of: (summary: (typeof summaries)[number]['summary']) => number): number[] => {
    let sum = 0;
    return summaries.map(step => (sum += of(glance(step))));
  };
  const calls = sums(({ toolCalls }) => toolCalls.total);
  // The first steps' means are of fewer: they are neither the best of so many in a row nor at the target, unless the run has no more.
  const whole = smoothed.slice(Math.min(SMOOTHED_STEPS, smoothed.length) - 1);
  const area = meanHeight({ xs: summaries.map(({ step }) => step), ys: rewards }, common);
  return {
    final: smoothed.at(-1)!,
    best: Math.max(...whole),
    // One of the compared runs has no step that this one has, too.
    area: Number.isNaN(area) ? undefined : area,
    toolCalls: calls.at(-1)!,
    sampledTokens: wholeSum(summaries.map(step => glance(step).tokens?.sampled)),
    seconds: wholeSum(summaries.map(step => glance(step).seconds?.total)),
    heldOut: evaluations.at(-1)?.summary.accuracy,
    ...behaviour(summaries.slice(-SMOOTHED_STEPS)),
    smoothed: { xs: calls.slice(-whole.length), ys: whole },
  };
}
