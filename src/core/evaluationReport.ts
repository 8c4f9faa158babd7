/** Everything that a report on an evaluation says, as sections that any page can draw. Knows nothing of pages or files. */
import { estimate, SHARE } from './bootstrap.ts';
import { measuredOf, type EvaluationRecord, type TrajectoryOutcome } from './evaluation.ts';
import { failureReason, FAILURE_REASONS, type FailureReason } from './evaluationFailures.ts';
import { flipsOf, type Flip } from './evaluationFlips.ts';
import { lengthFacts, provenanceFacts, toolFacts, toolTable, warningsOf } from './evaluationFacts.ts';
import { counted, decimal, percent, plain, points, ranged } from './figures.ts';
import { passAtK } from './metrics.ts';
import { streamKey } from './random.ts';
import { sampleName } from './sampleText.ts';
import type {
  Fact,
  FailureGroup,
  FlipLine,
  FlipSection,
  Report,
  Reported,
  SampleLine,
  Table,
} from './report.ts';

export const nameOf = ({ run, record }: Reported): string => `${run} · ${record.summary.id}`;

/** The report; with another evaluation also what flipped. */
export function evaluationReport(of: Reported, other?: Reported): Report {
  const { summary, outcomes, provenance } = of.record;
  const measured = outcomes.flatMap(({ trajectories }) => measuredOf(trajectories));
  const when = provenance === undefined ? '' : ` · ${provenance.at.slice(0, 16).replace('T', ' ')} UTC`;
  const table = passTable(of.record);
  const tools = toolTable(measured);
  return {
    title: nameOf(of),
    subtitle: `${summary.dataset} · ${counted(summary.tasks, 'task')}, ${counted(summary.samples, 'sample')} each${summary.greedyAccuracy === undefined ? '' : ' and a greedy trajectory'}${when}`,
    accuracy: {
      text: ranged({ mean: summary.accuracy, interval: summary.interval }),
      mean: summary.accuracy,
      interval: summary.interval,
      note: `n = ${counted(summary.tasks, 'task')} × ${counted(measured.length / Math.max(1, outcomes.length), 'trajectory', 'trajectories')}; in brackets the 95 % bootstrap interval over tasks`,
    },
    warnings: warningsOf(of, other),
    facts: headFacts(of.record),
    ...(table && { passAtK: table }),
    tools: { facts: toolFacts(measured, summary.accuracy), ...(tools && { table: tools }) },
    lengths: lengthFacts(measured),
    failures: failuresOf(of.record, measured.length),
    measured: measured.length,
    ...(other && { flips: flipSection(of, other) }),
    provenance: provenanceFacts(of.record),
  };
}

function headFacts({ summary }: EvaluationRecord): Fact[] {
  return [
    {
      label: 'Greedy accuracy',
      value: percent(summary.greedyAccuracy),
      note: 'one trajectory per task at temperature 0',
    },
    { label: 'Mean reward', value: plain(summary.reward) },
    { label: 'Took', value: `${decimal(summary.seconds, 1)} s` },
  ];
}

/** Powers of two up to the samples of a task, and that number itself. */
function drawsOf(samples: number): number[] {
  const draws = [];
  for (let k = 1; k < samples; k *= 2) draws.push(k);
  return [...draws, samples];
}

/** pass@k over all tasks and by ability; undefined where nothing was sampled. */
function passTable({ summary, outcomes }: EvaluationRecord): Table | undefined {
  const counts = outcomes.map(({ ability, trajectories }) => {
    const sampled = trajectories.filter(({ greedy }) => !greedy);
    return { ability, passes: sampled.length, correct: sampled.filter(({ correct }) => correct).length };
  });
  const samples = Math.min(...counts.map(({ passes }) => passes));
  if (!(samples >= 1 && Number.isFinite(samples))) return undefined;
  const draws = drawsOf(samples);
  const cellsOf = (name: string, of: typeof counts): Table['rows'][number] => [
    { text: name },
    { text: String(of.length) },
    ...draws.map(k => {
      const values = of.map(({ passes, correct }) => passAtK(passes, correct, k));
      // pass@1 of all tasks is the accuracy: it must not stand there with another interval.
      const isAccuracy = of === counts && k === 1;
      const found = isAccuracy
        ? { mean: summary.accuracy, interval: summary.interval }
        : estimate([values], streamKey('pass', summary.id, name, k), SHARE);
      return { text: ranged(found), share: found.mean };
    }),
  ];
  const abilities = [...new Set(counts.map(({ ability }) => ability))].sort();
  return {
    heads: ['Tasks', 'n', ...draws.map(k => `pass@${k}`)],
    rows: [
      cellsOf('all', counts),
      ...(abilities.length < 2
        ? []
        : abilities.map(ability =>
            cellsOf(
              ability || 'without ability',
              counts.filter(count => count.ability === ability),
            ),
          )),
    ],
  };
}

function failuresOf({ outcomes }: EvaluationRecord, all: number): FailureGroup[] {
  const byReason = new Map<FailureReason, SampleLine[]>();
  outcomes.forEach(({ task: name, question, references, trajectories }, task) => {
    const measured = new Set(measuredOf(trajectories));
    trajectories.forEach((outcome, trajectory) => {
      const reason = measured.has(outcome) ? failureReason(outcome) : undefined;
      if (reason === undefined) return;
      const line = {
        task,
        trajectory,
        name,
        which: sampleName(trajectories, trajectory),
        question,
        said: saidOf(outcome),
        wanted: references.join(' | '),
      };
      const known = byReason.get(reason) ?? [];
      known.push({ ...line, reason: outcome.reason });
      byReason.set(reason, known);
    });
  });
  return [...byReason]
    .map(([reason, samples]) => ({
      reason,
      ...FAILURE_REASONS[reason],
      share: samples.length / all,
      samples,
    }))
    .sort((a, b) => b.samples.length - a.samples.length);
}

const saidOf = ({ answer }: TrajectoryOutcome): string => answer ?? '–';

function flipSection(of: Reported, other: Reported): FlipSection {
  const { gained, lost, bothRight, bothWrong, unmatched, by, difference } = flipsOf(of.record, other.record);
  const line = (flip: Flip): FlipLine => {
    const outcome = of.record.outcomes[flip.task]!;
    return {
      ...flip,
      name: outcome.task,
      question: outcome.question,
      said: saidOf(outcome.trajectories[flip.trajectory]!),
      otherSaid: saidOf(other.record.outcomes[flip.otherTask]!.trajectories[flip.otherTrajectory]!),
    };
  };
  return {
    against: nameOf(other),
    note:
      by === 'greedy'
        ? 'Right or wrong by the greedy trajectory of each.'
        : 'Right where more than half of a task’s samples are.',
    facts: [
      {
        label: 'Accuracy against it',
        value: difference === undefined ? 'no task in common' : `${ranged(difference, points)} points`,
        note: 'over the tasks of both; in brackets the 95 % bootstrap interval over pairs',
      },
      { label: 'Gained', value: counted(gained.length, 'task'), note: 'wrong there, right here' },
      { label: 'Lost', value: counted(lost.length, 'task'), note: 'right there, wrong here' },
      { label: 'Unchanged', value: `${bothRight} right, ${bothWrong} wrong in both` },
      ...(unmatched > 0 ? [{ label: 'Only in one of them', value: counted(unmatched, 'task') }] : []),
    ],
    gained: gained.map(line),
    lost: lost.map(line),
  };
}
