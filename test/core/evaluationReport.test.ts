import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { EvaluationRecord, TrajectoryOutcome } from '../../src/core/evaluation.ts';
import { failureReason } from '../../src/core/evaluationFailures.ts';
import { flipsOf } from '../../src/core/evaluationFlips.ts';
import { evaluationReport } from '../../src/core/evaluationReport.ts';
import type { Fact } from '../../src/core/report.ts';
import { sampleText } from '../../src/core/sampleText.ts';
import { evaluationOf, FAILED, provenance, right, wrong } from '../fakes/evaluations.ts';

const valueOf = (facts: readonly Fact[], label: string): string =>
  facts.find(fact => fact.label === label)!.value;

/** As a version before pieces, stops and provenance wrote it. */
function aged(record: EvaluationRecord): EvaluationRecord {
  const { summary, outcomes } = record;
  const old = ({ stop: _, parts: __, pieces: ___, ...kept }: TrajectoryOutcome): TrajectoryOutcome => kept;
  return {
    summary,
    outcomes: outcomes.map(({ prompt: _, ...task }) => ({
      ...task,
      trajectories: task.trajectories.map(old),
    })),
  };
}

describe('evaluation report', () => {
  it('reckons pass@k over tasks, in all and by ability', () => {
    const { passAtK } = evaluationReport({
      run: 'r',
      record: evaluationOf([
        [right(), wrong(), wrong(), wrong()],
        [right(), right(), right(), right()],
        [wrong(), wrong(), wrong(), wrong()],
        [right(), right(), wrong(), wrong()],
      ]),
    });
    assert.deepEqual(passAtK!.heads, ['Tasks', 'n', 'pass@1', 'pass@2', 'pass@4']);
    // 1 of 4 right: pass@2 = 1 − C(3,2)/C(4,2) = 1/2; 2 of 4: 1 − 1/6.
    const [all, even, odd] = passAtK!.rows.map(row => row.slice(2).map(({ share }) => share!));
    assert.deepEqual(all, [0.4375, (0.5 + 1 + 0 + 5 / 6) / 4, 0.75]);
    assert.deepEqual(even, [0.125, 0.25, 0.5]);
    assert.deepEqual(odd, [0.75, (1 + 5 / 6) / 2, 1]);
    assert.equal(passAtK!.rows[1]![0]!.text, 'even');
  });

  it('has no pass@k where only greedy trajectories were drawn', () => {
    const record = evaluationOf([[right({ greedy: true })], [wrong({ greedy: true })]]);
    assert.equal(evaluationReport({ run: 'r', record }).passAtK, undefined);
  });

  it('gives every failure one reason', () => {
    assert.deepEqual(FAILED.map(failureReason), [
      'truncated',
      'call',
      'no-answer',
      'format',
      'not-judged',
      'tool-error',
      'partial',
      'wrong',
    ]);
    assert.equal(failureReason(right()), undefined);
    const { failures, measured } = evaluationReport({
      run: 'r',
      record: evaluationOf([
        [...FAILED.slice(0, 7), wrong(), wrong()],
        [...Array<TrajectoryOutcome>(9).fill(right())],
      ]),
    });
    assert.equal(measured, 18);
    assert.deepEqual(
      [failures[0]!.reason, failures[0]!.samples.length, failures[0]!.share],
      ['wrong', 2, 1 / 9],
    );
    assert.deepEqual(failures[0]!.samples[1], {
      task: 0,
      trajectory: 8,
      name: 't0',
      which: 'sample 9 of 9',
      question: 'What is 0 + 4?',
      said: '5',
      wanted: '4',
      reason: 'Wrong.',
    });
  });

  it('counts tools and lengths, and says of an old record what it did not log', () => {
    const record = evaluationOf([
      [right(), wrong()],
      [right(), FAILED[5]!],
      [FAILED[0]!, wrong()],
    ]);
    const { tools, lengths } = evaluationReport({ run: 'r', record });
    assert.equal(valueOf(tools.facts, 'Failed calls'), '1 of 3 (33.3 %)');
    assert.equal(valueOf(tools.facts, 'Calls per answer'), '.50');
    assert.equal(valueOf(tools.facts, 'Right with a call'), '66.7 % of 3');
    assert.equal(valueOf(tools.facts, 'Tool productivity'), ((100 * (1 / 3) * 0.5) / 0.6).toFixed(1));
    assert.deepEqual(
      tools.table!.rows.map(row => row.map(({ text }) => text)),
      [['python', '3', '.50', '1', '0', '30 ms']],
    );
    assert.equal(valueOf(lengths, 'Response tokens, mean'), '15');
    assert.equal(valueOf(lengths, 'Truncated'), '16.7 %');
    const old = evaluationReport({ run: 'r', record: aged(record) });
    assert.equal(valueOf(old.tools.facts, 'Failed calls'), 'not logged');
    assert.equal(old.tools.table, undefined);
    assert.equal(valueOf(old.lengths, 'Truncated'), 'not logged');
    assert.equal(valueOf(old.provenance, 'Weights'), 'not logged');
    assert.equal(valueOf(old.lengths, 'Characters, mean'), '7');
  });

  it('finds the tasks that flipped, by the greedy trajectories where both have them', () => {
    const greedy = { greedy: true };
    const before = evaluationOf([
      [right(greedy), wrong()],
      [wrong(greedy), right()],
      [wrong(greedy), wrong()],
      [right(greedy), right()],
    ]);
    const after = evaluationOf([
      [wrong(greedy), right()],
      [right(greedy), right()],
      [wrong(greedy), wrong()],
      [right(greedy), right()],
    ]);
    const { gained, lost, bothRight, bothWrong, by, difference } = flipsOf(after, before);
    assert.equal(by, 'greedy');
    assert.deepEqual([gained.map(({ task }) => task), lost.map(({ task }) => task)], [[1], [0]]);
    assert.deepEqual([bothRight, bothWrong], [1, 1]);
    assert.equal(difference!.mean, 0.25);
  });

  it('goes by the majority of the samples otherwise, and matches tasks by name and question', () => {
    const before = evaluationOf([
      [wrong(), wrong(), right()],
      [right(), right(), right()],
      [wrong(), wrong(), wrong()],
    ]);
    const after = evaluationOf([
      [wrong(), right(), right()],
      [right(), right(), wrong()],
    ]);
    after.outcomes[1]!.question = 'Something else?';
    const flips = flipsOf(after, before);
    assert.deepEqual(flips.gained, [{ task: 0, otherTask: 0, trajectory: 1, otherTrajectory: 0 }]);
    assert.deepEqual([flips.by, flips.unmatched, flips.lost.length], ['majority', 3, 0]);
  });

  it('matches a task that the file says twice with the one in the same place', () => {
    const record = evaluationOf([[right()], [wrong()]]);
    record.outcomes[1] = { ...record.outcomes[0]!, trajectories: record.outcomes[1]!.trajectories };
    const { gained, lost, bothRight, bothWrong, unmatched, difference } = flipsOf(record, record);
    assert.deepEqual([gained.length, lost.length, bothRight, bothWrong, unmatched], [0, 0, 1, 1, 0]);
    assert.deepEqual(difference!.interval, [0, 0]);
    const fewer = { ...record, outcomes: record.outcomes.slice(0, 1) };
    assert.equal(flipsOf(record, fewer).unmatched, 1);
  });

  it('times the calls that were made', () => {
    const refused = right().pieces!.map(piece =>
      piece.call ? { ...piece, call: { ...piece.call, outcome: 'refused' as const, latencyMs: 0 } } : piece,
    );
    const record = evaluationOf([[right(), right({ pieces: refused }), right({ pieces: refused })]]);
    const { tools } = evaluationReport({ run: 'r', record });
    assert.equal(tools.table!.rows[0]!.at(-1)!.text, '30 ms');
  });

  it('warns of few tasks, and of what differs between two evaluations', () => {
    const record = evaluationOf([[right()], [wrong()]]);
    const made = (change: Parameters<typeof provenance>[0]): EvaluationRecord =>
      evaluationOf([[right()], [wrong()]], { made: provenance(change) });
    const against = (other: EvaluationRecord): string[] =>
      evaluationReport({ run: 'r', record }, { run: 's', record: other }).warnings.slice(1);
    assert.match(
      evaluationReport({ run: 'r', record }).warnings[0]!,
      /^Only 2 tasks: the interval is 50\.0 points wide/,
    );
    assert.deepEqual(against(made({})), []);
    assert.deepEqual(
      against(made({ dataset: { path: 'x', hash: 'other' }, templateHash: 'other', temperature: 0.5 })),
      [
        'The tasks differ: their files have different hashes.',
        'The chat templates differ.',
        'The temperatures differ.',
      ],
    );
    assert.deepEqual(against(made({ cassette: 'record' })), []);
    assert.deepEqual(against(made({ cassette: 'replay' })), [
      'One of them had tool answers from a cassette.',
    ]);
    assert.match(against(aged(record))[0]!, /^The other evaluation did not log what it was made with/);
  });
});

describe('the text of a sample', () => {
  it('stands under headings that say who wrote it', () => {
    const text = sampleText(evaluationOf([[right({ greedy: true }), right(), wrong()]]), 0, 1);
    assert.equal(
      text,
      `# step-8 · task t0 (even) · sample 1 of 2
# right · reward 1.00 · 1 tool call · 20 tokens · ended by answer
# accepted: 4 · answered: 4
# Right.

── prompt ──
user: What is 0 + 4?

── model · turn 1 · 5 tokens ──
call

── tool · python · ok · 30 ms · 10 tokens ──
4444

── model · turn 2 · 5 tokens ──
said
`,
    );
  });

  it('stands as a whole where it was not logged who wrote what', () => {
    const text = sampleText(aged(evaluationOf([[right()]])), 0, 0);
    assert.match(text, /tokens not logged/);
    assert.match(text, /── response ──\ncall4444said\n$/);
  });
});
