/** The rows of the run explorer: what each is about and what stands under it. Knows nothing of VS Code, or how a row looks. */
import type { CheckResult } from '../core/checkup.ts';
import type { EvaluationSummary } from '../core/events.ts';
import type { RunOutline } from '../core/fold.ts';
import { FailureError } from '../core/types.ts';
import { evaluationIds, readEvaluation } from '../run/evaluations.ts';
import { checkpointName } from '../run/layout.ts';
import type { TreeEntry } from '../run/offsets.ts';
import { openRun } from '../run/reader.ts';
import type { RunList, StepRange } from './runList.ts';
import { stepList } from './runList.ts';
import type { Target } from './target.ts';

interface Place {
  /** Tells the row from every other, also after a refresh. */
  key: string;
  /** Absent at the top. */
  parent?: Row;
}

/** An evaluation of a run; `at` is absent where an old record does not tell it, all but the step where it cannot be read. */
export interface Evaluated {
  step: number;
  at?: string;
  summary?: EvaluationSummary;
}

export type GroupRow = Place & { kind: 'group'; name: string; count: number };

type SimpleKind = 'steps' | 'checkpoints' | 'evaluations' | 'checks' | 'config' | 'log' | 'git';
type SimplePart = { [K in SimpleKind]: { kind: K } }[SimpleKind];

/** What a row of a run is about. */
export type PartRow = Place &
  Target & { runFolder: string } & (
    | { kind: 'run' }
    | SimplePart
    | ({ kind: 'range' } & StepRange)
    | { kind: 'step'; step: number }
    | { kind: 'tree'; tree: string; step: number; entry?: TreeEntry }
    | { kind: 'checkpoint'; checkpoint: string; step: number }
    | ({ kind: 'evaluation'; evaluation: string } & Evaluated)
    | { kind: 'check'; result: CheckResult }
    | { kind: 'note'; text: string }
  );

export type Row = GroupRow | PartRow;
export type Kind = Row['kind'];
export type RowOf<K extends Kind> = Extract<Row, { kind: K }>;

/** Where the results of checks come from; a subject is a run's folder. */
export interface CheckSource {
  results(subject: string): readonly CheckResult[] | 'running' | undefined;
}

/** What of a new row its place does not say. */
type Part = PartRow extends infer P
  ? P extends PartRow
    ? Omit<P, keyof Place | 'runFolder'>
    : never
  : never;

/** The rows at the top: runs, then headings. */
export function topRows({ plain, groups }: RunList): Row[] {
  return [
    ...plain.map(({ folder }) => runRow(folder)),
    ...groups.map(({ name, runs }): Row => ({
      kind: 'group',
      name,
      count: runs.length,
      key: `group ${name}`,
    })),
  ];
}

export const runsUnder = (group: GroupRow, { groups }: RunList): Row[] =>
  (groups.find(({ name }) => name === group.name)?.runs ?? []).map(({ folder }) => runRow(folder, group));

const runRow = (runFolder: string, parent?: GroupRow): Row => ({
  kind: 'run',
  runFolder,
  key: parent === undefined ? runFolder : `${parent.key} ${runFolder}`,
  ...(parent !== undefined && { parent }),
});

/** The rows under a row of a run. Reads trees where it is a step. */
export async function rowsUnder(row: PartRow, state: RunOutline, checks: CheckSource): Promise<Row[]> {
  const { runFolder } = row;
  // The parts of Part are those of PartRow without its place, which is added here.
  const under = (name: string, part: Part): Row => ({
    ...part,
    runFolder,
    parent: row,
    key: `${row.key} ${name}`,
  });
  switch (row.kind) {
    case 'run':
      return partsOf(state, runFolder).map(part => under(part.kind, part));
    case 'steps':
    case 'range':
      return stepRows(row, state, under);
    case 'step':
      return (await treesOf(runFolder, row.step, state)).map(({ tree, entry }) =>
        under(tree, { kind: 'tree', tree, step: row.step, ...(entry !== undefined && { entry }) }),
      );
    case 'checkpoints':
      return state.checkpoints.toReversed().map(({ step }) => {
        const checkpoint = checkpointName(step);
        return under(checkpoint, { kind: 'checkpoint', checkpoint, step });
      });
    case 'evaluations':
      return (await evaluationsOf(state, runFolder)).map(({ id, ...evaluated }) =>
        under(id, { kind: 'evaluation', evaluation: id, ...evaluated }),
      );
    case 'checks':
      return checkRows(checks.results(runFolder), under);
    default:
      return [];
  }
}

/** Names of evaluations that were made while a worker wrote the journal: nobody told of them there. */
function untold({ evaluations }: RunOutline, runFolder: string): string[] {
  const told = new Set(evaluations.map(({ summary }) => summary.id));
  return evaluationIds(runFolder).filter(id => !told.has(id));
}

export const evaluationCount = (state: RunOutline, runFolder: string): number =>
  state.evaluations.length + untold(state, runFolder).length;

/** Newest step first; of a step, what was told last first. */
async function evaluationsOf(state: RunOutline, runFolder: string): Promise<(Evaluated & { id: string })[]> {
  const told = state.evaluations.map(({ step, at, summary }) => ({ id: summary.id, step, at, summary }));
  const read = await Promise.all(
    untold(state, runFolder).map(async id => ({
      ...{ id, step: Number(/^step-(\d+)/.exec(id)?.[1] ?? 0) },
      ...(await recorded(runFolder, id)),
    })),
  );
  return [...told, ...read].reverse().sort((a, b) => b.step - a.step);
}

async function recorded(runFolder: string, id: string): Promise<Pick<Evaluated, 'at' | 'summary'>> {
  try {
    const { summary, provenance } = await readEvaluation(runFolder, id);
    return { summary, ...(provenance && { at: provenance.at }) };
  } catch (error) {
    // Whoever opens the report is told what is wrong with its file.
    if (error instanceof FailureError) return {};
    throw error;
  }
}

function partsOf(state: RunOutline, runFolder: string): SimplePart[] {
  const counts = {
    steps: state.step,
    checkpoints: state.checkpoints.length,
    evaluations: evaluationCount(state, runFolder),
  };
  const counted = (Object.keys(counts) as (keyof typeof counts)[]).filter(kind => counts[kind] > 0);
  // Another program's rollouts come without the rest.
  const rest = state.run?.source === undefined ? (['checks', 'config', 'log', 'git'] as const) : [];
  return [...counted, ...rest].map(kind => ({ kind }));
}

function stepRows(
  row: RowOf<'steps'> | RowOf<'range'>,
  state: RunOutline,
  under: (name: string, part: Part) => Row,
): Row[] {
  const stepRow = (step: number): Row => under(String(step), { kind: 'step', step });
  const finished = state.summaries.map(({ step }) => step);
  if (row.kind === 'range')
    return finished
      .filter(step => step >= row.from && step <= row.to)
      .reverse()
      .map(stepRow);
  const { steps, ranges } = stepList(finished, state.live?.step);
  return [
    ...steps.map(stepRow),
    ...ranges.map(range => under(`${range.from}–${range.to}`, { kind: 'range', ...range })),
  ];
}

/** What needs a look comes first. */
function checkRows(
  results: ReturnType<CheckSource['results']>,
  under: (name: string, part: Part) => Row,
): Row[] {
  if (results === undefined || results === 'running')
    return [
      under('note', { kind: 'note', text: results === 'running' ? 'Being checked …' : 'Not checked yet' }),
    ];
  const order = ['error', 'warning', 'ok'];
  return results
    .map((result, index) => ({ result, index }))
    .sort((a, b) => order.indexOf(a.result.status) - order.indexOf(b.result.status))
    .map(({ result, index }) => under(`check ${index}`, { kind: 'check', result }));
}

async function treesOf(
  runFolder: string,
  step: number,
  state: RunOutline,
): Promise<{ tree: string; entry?: TreeEntry }[]> {
  if (state.live?.step === step)
    return state.live.trees
      .map(({ id }) => ({ tree: id }))
      .sort((a, b) => a.tree.localeCompare(b.tree, 'en', { numeric: true }));
  const entries = await openRun(runFolder).trees();
  return entries.filter(entry => entry.step === step).map(entry => ({ tree: entry.id, entry }));
}
