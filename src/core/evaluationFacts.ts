/** The plainer parts of a report on an evaluation: tools, lengths, what it was made with, and what to be wary of. */
import { tokensOf, type EvaluationRecord, type Provenance, type TrajectoryOutcome } from './evaluation.ts';
import { counted, decimal, NOT_LOGGED, percent, plain, whole } from './figures.ts';
import { toolProductivity } from './metrics.ts';
import type { Fact, Reported, Table } from './report.ts';
import { quantile } from './summary.ts';
import { meanOf } from './mean.ts';

const shareOf = <T>(values: readonly T[], holds: (value: T) => boolean): number =>
  values.filter(holds).length / values.length;

/** Calls of all trajectories; undefined where they were not logged. */
const callsOf = (measured: readonly TrajectoryOutcome[]) =>
  measured.some(({ pieces }) => pieces === undefined)
    ? undefined
    : measured.flatMap(({ pieces }) => pieces!.flatMap(({ call }) => call ?? []));

export function toolFacts(measured: readonly TrajectoryOutcome[], accuracy: number): Fact[] {
  const calls = callsOf(measured);
  const failed = calls?.filter(({ outcome }) => outcome !== 'ok').length;
  const perAnswer = meanOf(measured.map(outcome => outcome.calls));
  const rightWith = (isWith: boolean): string => {
    const some = measured.filter(outcome => outcome.calls > 0 === isWith);
    return some.length === 0
      ? 'none'
      : `${percent(shareOf(some, ({ correct }) => correct))} of ${whole(some.length)}`;
  };
  return [
    { label: 'Calls per answer', value: plain(perAnswer, 2) },
    { label: 'Answers with a call', value: percent(shareOf(measured, outcome => outcome.calls > 0)) },
    {
      label: 'Failed calls',
      value:
        calls === undefined || failed === undefined
          ? NOT_LOGGED
          : `${whole(failed)} of ${whole(calls.length)}${calls.length > 0 ? ` (${percent(failed / calls.length)})` : ''}`,
      note: 'outcomes other than ok',
    },
    { label: 'Right with a call', value: rightWith(true) },
    { label: 'Right without one', value: rightWith(false) },
    {
      label: 'Tool productivity',
      value: plain(toolProductivity(accuracy, perAnswer), 1),
      note: '100·acc·c̄ ÷ (c̄ + 0.1), c̄ calls of an answer',
    },
  ];
}

/** By tool; undefined where calls were not logged or there are none. */
export function toolTable(measured: readonly TrajectoryOutcome[]): Table | undefined {
  const calls = callsOf(measured);
  if (calls === undefined || calls.length === 0) return undefined;
  const tools = [...new Set(calls.map(({ tool }) => tool))].sort();
  return {
    heads: ['Tool', 'Calls', 'Per answer', 'Failed', 'Answered by a cache or a twin', 'Median latency'],
    rows: tools.map(tool => {
      const own = calls.filter(call => call.tool === tool);
      const shared = own.filter(call => call.shared).length;
      // A call beyond a limit was not made: it took no time.
      const timed = own.filter(call => !call.shared && call.outcome !== 'refused');
      const failed = own.filter(({ outcome }) => outcome !== 'ok').length;
      return [
        { text: tool },
        { text: whole(own.length), share: own.length / calls.length },
        { text: plain(own.length / measured.length, 2) },
        { text: whole(failed) },
        { text: whole(shared) },
        {
          text:
            timed.length === 0
              ? '–'
              : `${whole(
                  quantile(
                    timed.map(({ latencyMs }) => latencyMs),
                    0.5,
                  ),
                )} ms`,
        },
      ];
    }),
  };
}

export function lengthFacts(measured: readonly TrajectoryOutcome[]): Fact[] {
  const lengths = measured.flatMap(outcome => tokensOf(outcome) ?? []);
  const isLogged = lengths.length === measured.length;
  const at = (q: number): number | undefined => (isLogged ? quantile(lengths, q) : undefined);
  const stops = measured.flatMap(({ stop }) => stop ?? []);
  const turns = measured.flatMap(({ pieces }) =>
    pieces === undefined ? [] : [pieces.filter(({ kind }) => kind === 'model').length],
  );
  return [
    { label: 'Response tokens, mean', value: whole(isLogged ? meanOf(lengths) : undefined) },
    { label: 'Median', value: whole(at(0.5)) },
    { label: '10 % to 90 %', value: isLogged ? `${whole(at(0.1))} to ${whole(at(0.9))}` : NOT_LOGGED },
    { label: 'Longest', value: whole(at(1)) },
    {
      label: 'Truncated',
      value:
        stops.length < measured.length
          ? NOT_LOGGED
          : percent(shareOf(stops, stop => stop === 'length' || stop === 'turn-length')),
      note: 'ran out of tokens, of the response or of a turn',
    },
    {
      label: 'Model turns, mean',
      value: plain(turns.length < measured.length ? undefined : meanOf(turns), 2),
    },
    {
      label: 'Characters, mean',
      value: whole(meanOf(measured.map(({ text }) => text.length))),
      note: 'of the response, tool answers included',
    },
  ];
}

const FROM_FILES: Readonly<Record<string, string>> = {
  off: 'off',
  record: 'recorded while live',
  replay: 'replayed: no tool ran',
  'replay-or-record': 'replayed where known, else live',
};

export function provenanceFacts({ summary, provenance }: EvaluationRecord): Fact[] {
  const of = <T>(value: T | undefined, show: (value: T) => string = String): string =>
    value === undefined ? NOT_LOGGED : show(value);
  return [
    { label: 'Weights', value: of(provenance?.weights.hash), note: of(provenance?.weights.folder) },
    { label: 'Tasks', value: of(provenance?.dataset.hash), note: of(provenance?.dataset.path) },
    { label: 'Chat template', value: of(provenance?.templateHash) },
    { label: 'Seed', value: of(provenance?.seed) },
    { label: 'Temperature', value: of(provenance?.temperature) },
    { label: 'Response tokens allowed', value: of(provenance?.maxResponseTokens) },
    { label: 'Tools', value: of(provenance?.tools, tools => tools.join(', ') || 'none') },
    { label: 'Tool cache', value: of(provenance?.cache) },
    { label: 'Tool cassette', value: of(provenance?.cassette, mode => FROM_FILES[mode] ?? mode) },
    { label: 'Reward', value: of(provenance?.reward) },
    {
      label: 'Versions',
      value: of(provenance?.versions, versions =>
        Object.entries(versions)
          .map(([name, version]) => `${name} ${version}`)
          .join(', '),
      ),
    },
    {
      label: 'Command',
      value: provenance === undefined ? NOT_LOGGED : (provenance.command ?? 'by the run itself'),
    },
    { label: 'Identity', value: summary.id, note: 'evaluations/<identity>.json in the run folder' },
  ];
}

/** Fewer tasks than this say little about differences of a few points. */
const FEW_TASKS = 200;

/** What a reader should know before he believes a number. */
export function warningsOf({ record }: Reported, other?: Reported): string[] {
  const { summary, outcomes } = record;
  const [low, high] = summary.interval;
  const warnings =
    outcomes.length < FEW_TASKS
      ? [
          `Only ${counted(outcomes.length, 'task')}: the interval is ${decimal(100 * (high - low), 1)} points wide, and smaller differences mean little.`,
        ]
      : [];
  if (record.provenance?.cassette === 'replay')
    warnings.push('Tool answers were replayed from a cassette: no tool ran.');
  if (record.provenance?.cache === 'on')
    warnings.push('Tool answers may come from a cache that is older than these weights.');
  return other === undefined ? warnings : [...warnings, ...differences(record, other.record)];
}

function differences(record: EvaluationRecord, other: EvaluationRecord): string[] {
  const [now, then] = [record.provenance, other.provenance];
  const found: string[] = [];
  const compare = (what: string, a: unknown, b: unknown): void => {
    if (a !== undefined && b !== undefined && a !== b) found.push(what);
  };
  compare('The tasks differ: their files have different hashes.', now?.dataset.hash, then?.dataset.hash);
  if (now === undefined || then === undefined)
    found.push(
      `${now === undefined ? 'This evaluation' : 'The other evaluation'} did not log what it was made with: whether tasks and chat template are the same is not known.`,
    );
  else if (now.templateHash !== then.templateHash) found.push('The chat templates differ.');
  compare('The datasets have different names.', record.summary.dataset, other.summary.dataset);
  compare('The numbers of samples differ.', record.summary.samples, other.summary.samples);
  compare('The temperatures differ.', now?.temperature, then?.temperature);
  compare('The allowed lengths differ.', now?.maxResponseTokens, then?.maxResponseTokens);
  compare('The tools differ.', now?.tools.join(), then?.tools.join());
  compare('The rewards differ.', now?.reward, then?.reward);
  const isReplayed = (made: Provenance | undefined): boolean | undefined =>
    made && made.cassette.startsWith('replay');
  compare('One of them had tool answers from a cassette.', isReplayed(now), isReplayed(then));
  return found;
}
