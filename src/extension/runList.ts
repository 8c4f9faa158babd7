/** Which runs the explorer lists, and under which headings. Knows nothing of VS Code, files or rows. */
import type { RunSummary } from '../run/runs.ts';
import { statusOf } from './rows.ts';

/** What the runs are grouped by, and how that is said. */
export const GROUPINGS = {
  none: 'One list, newest first',
  status: 'Running, paused, finished, failed …',
  tag: 'A heading for each tag; a run with several tags is under each',
  config: 'The configurations that runs were started from',
  day: 'The days on which runs began',
} as const;
export type Grouping = keyof typeof GROUPINGS;

export interface RunGroup {
  /** What its heading says. */
  name: string;
  runs: RunSummary[];
}

/** Runs without a heading come first. */
export interface RunList {
  plain: RunSummary[];
  groups: RunGroup[];
}

/** True where every word of the filter is in the run's name, label, tags, status, configuration or source. */
export function matches(run: RunSummary, filter: string): boolean {
  const { name, label = '', tags, config, source = '' } = run;
  const said = [name, label, ...tags, statusOf(run), config, source].join('\n').toLowerCase();
  return wordsOf(filter).every(word => said.includes(word));
}

const wordsOf = (filter: string): string[] => filter.toLowerCase().split(/\s+/).filter(Boolean);

/** The runs that match, in the order they come in; headings in the order of their first run, those for the rest last. */
export function listRuns(runs: readonly RunSummary[], filter: string, grouping: Grouping): RunList {
  const shown = runs.filter(run => matches(run, filter));
  if (grouping === 'none') {
    const imported = shown.filter(({ source }) => source !== undefined);
    return {
      plain: shown.filter(({ source }) => source === undefined),
      groups: grouped(imported, ({ source }) => [`Imported (${source})`]),
    };
  }
  const groups = grouped(shown, HEADINGS[grouping]);
  if (grouping === 'status')
    groups.sort((a, b) => STATUS_ORDER.indexOf(a.name) - STATUS_ORDER.indexOf(b.name));
  if (grouping === 'tag' || grouping === 'config') groups.sort(byNameRestLast);
  return { plain: [], groups };
}

const UNTAGGED = 'Without a tag';
const UNKNOWN_CONFIG = 'Configuration cannot be read';
const UNKNOWN_DAY = 'Day not known';
const RESTS = [UNTAGGED, UNKNOWN_CONFIG];

const STATUS_ORDER: readonly string[] = [
  'running',
  'starting',
  'paused',
  'failed',
  'interrupted',
  'stopped',
  'finished',
  'unreadable',
];

const HEADINGS: Record<Exclude<Grouping, 'none'>, (run: RunSummary) => readonly string[]> = {
  status: run => [statusOf(run)],
  tag: ({ tags }) => (tags.length === 0 ? [UNTAGGED] : tags),
  config: ({ config, source }) => [
    config !== '' ? config : source === undefined ? UNKNOWN_CONFIG : `Imported (${source})`,
  ],
  day: ({ created }) => [dayOf(created)],
};

/** `2026-11-30`, where the user is. */
function dayOf(created: string): string {
  const date = new Date(created);
  if (Number.isNaN(date.getTime())) return UNKNOWN_DAY;
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

const byNameRestLast = (a: RunGroup, b: RunGroup): number =>
  Number(RESTS.includes(a.name)) - Number(RESTS.includes(b.name)) || a.name.localeCompare(b.name, 'en');

function grouped(runs: readonly RunSummary[], headings: (run: RunSummary) => readonly string[]): RunGroup[] {
  const groups = new Map<string, RunSummary[]>();
  for (const run of runs)
    for (const name of headings(run)) {
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [run]);
      else group.push(run);
    }
  return Array.from(groups, ([name, runs]) => ({ name, runs }));
}

/** What the view says of its list: `“seed” · by tag`; undefined where it shows all in one list. */
export function listDescription(filter: string, grouping: Grouping): string | undefined {
  const parts = [
    ...(filter === '' ? [] : [`“${filter}”`]),
    ...(grouping === 'none' ? [] : [`by ${grouping}`]),
  ];
  return parts.length === 0 ? undefined : parts.join(' · ');
}

/** What stands over a filtered list: how much of it is seen. Nothing where there is no filter, or where nothing matches it. */
export function filterMessage(filter: string, { plain, groups }: RunList, all: number): string | undefined {
  const shown = new Set([plain, ...groups.map(({ runs }) => runs)].flat()).size;
  return filter === '' || shown === 0 ? undefined : `${shown} of ${all} runs match “${filter}”`;
}

/** Steps that are listed one by one; older ones are in hundreds. */
const NEWEST_STEPS = 500;
const STEPS_TOGETHER = 100;

/** Some of a run's steps, first and last included. */
export interface StepRange {
  from: number;
  to: number;
}

/** Newest first: the newest steps, and ranges that hold the others. `finished` ascends. */
export function stepList(
  finished: readonly number[],
  live: number | undefined,
): { steps: number[]; ranges: StepRange[] } {
  const isNew = live !== undefined && finished.at(-1) !== live;
  const newest = finished.slice(-NEWEST_STEPS).reverse();
  const older = finished.slice(0, -NEWEST_STEPS);
  const rangeOf = (step: number): number => Math.floor((step - 1) / STEPS_TOGETHER);
  const ranges: StepRange[] = [];
  let of: number | undefined;
  for (const step of older.toReversed()) {
    if (of !== rangeOf(step)) ranges.push({ from: step, to: step });
    else ranges.at(-1)!.from = step;
    of = rangeOf(step);
  }
  return { steps: isNew ? [live, ...newest] : newest, ranges };
}

/** A text with commas as tags. */
export const tagsOf = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map(tag => tag.trim())
      .filter(tag => tag !== ''),
  ),
];
