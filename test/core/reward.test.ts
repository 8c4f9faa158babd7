import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { judge, overlongLoss, type RewardSettings } from '../../src/core/reward.ts';
import { resultText } from '../../src/core/tags.ts';
import { responseTokens } from '../../src/core/tree.ts';
import type { Reward, Rule, Segment, StopReason, ToolOutcome, Tree } from '../../src/core/types.ts';
import { goldenRows } from '../golden/read.ts';

type Part = { model: string } | { tool: string; result: string; outcome?: ToolOutcome };

interface Row {
  id: string;
  response: Part[];
  references: string[];
  score: number;
  quirk?: boolean;
  paper?: number;
}

const SETTINGS: RewardSettings = { accuracy: 'auto', formatPenalty: -1, multiToolBonus: 0.1 };

/** A tree of one path that says and hears these parts; neighbouring parts of the model are one turn. */
function treeOf(
  rule: Rule,
  parts: readonly Part[],
  references: readonly string[],
  stop: StopReason = 'answer',
): Tree {
  const segments: Segment[] = [
    { parent: -1, kind: 'prompt', start: 0, count: 1, text: 'Q <answer>', turn: 0 },
  ];
  const add = (segment: Pick<Segment, 'kind' | 'text' | 'call' | 'stop'>): number =>
    segments.push({ parent: segments.length - 1, start: segments.length, count: 1, turn: 0, ...segment });
  for (const part of parts)
    if ('model' in part) {
      const last = segments.at(-1)!;
      if (last.kind === 'model') last.text += part.model;
      else add({ kind: 'model', text: part.model, stop });
    } else {
      segments.at(-1)!.stop = 'call';
      const { tool, result, outcome = 'ok' } = part;
      add({
        kind: 'tool',
        text: resultText(result),
        call: { tool, argument: 'q', outcome, latencyMs: 1, shared: false },
      });
    }
  return {
    id: '1.0',
    step: 1,
    task: { id: 'task', question: 'Q', references, ability: 'qa' },
    rule,
    initial: 1,
    total: 1,
    segments,
    paths: [{ leaf: segments.length - 1, origin: 'initial', calls: 0, stop }],
    decisions: [],
  };
}

const total = (rule: Rule, { response, references }: Row, settings = SETTINGS): number =>
  judge(treeOf(rule, response, references), 0, settings).total;
const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 1e-6, `${actual}, expected ${expected}`);

const THINK = { model: '<think>I look.</think>' };
const ANSWER = { model: '<answer>\\boxed{Paris}</answer>' };
const CALL = [{ model: '<search>q</search>' }, { tool: 'search', result: 'Page 1: text' }];
const paper = (parts: readonly Part[], stop?: StopReason, references = ['Paris']): Reward =>
  judge(treeOf('paper', parts, references, stop), 0, SETTINGS);

describe('reward', () => {
  for (const row of goldenRows<Row>('reward')) {
    it(`gives ${row.id} ${row.score} under rule upstream`, () => near(total('upstream', row), row.score));
    if (row.paper !== undefined)
      it(`gives ${row.id} ${row.paper} under rule paper`, () => near(total('paper', row), row.paper!));
    if (!row.quirk)
      it(`gives ${row.id} ${row.score} under rule paper with F1`, () =>
        near(total('paper', row, { ...SETTINGS, accuracy: 'f1' }), row.score));
  }

  it('tells an unfinished call of any tool that the policy has', () => {
    const tree = treeOf('paper', [THINK, { model: '<units>3 ft' }, ANSWER], ['Paris']);
    assert.equal(judge(tree, 0, SETTINGS).total, 1);
    const told = judge(tree, 0, { ...SETTINGS, tools: ['search', 'units'] });
    assert.deepEqual([told.total, told.reason], [-1, 'The call of units was not finished.']);
    const other = treeOf('paper', [THINK, { model: '<python>3' }, ANSWER], ['Paris']);
    assert.equal(judge(other, 0, { ...SETTINGS, tools: ['search', 'units'] }).total, 1);
  });

  it('counts the thought that a template opens before the first turn', () => {
    const parts = [{ model: 'so</think><answer>\\boxed{Paris}</answer>' }];
    const scores = (rule: Rule, prompt: string): number => {
      const tree = treeOf(rule, parts, ['Paris']);
      tree.segments[0]!.text = prompt;
      return judge(tree, 0, SETTINGS).total;
    };
    assert.equal(scores('paper', '<|im_start|>assistant\n<think>\n'), 1);
    assert.equal(scores('paper', 'Think inside <think></think>.\n'), -1);
    assert.equal(scores('upstream', '<|im_start|>assistant\n<think>\n'), -1, 'as the released code');
  });

  it('compares numbers as numbers where the reference is one', () => {
    const score = (answer: string, reference: string): number =>
      paper([THINK, { model: `<answer>\\boxed{ ${answer} }</answer>` }], 'answer', [reference]).total;
    assert.equal(score('12,345', '12345'), 1);
    assert.equal(score('12345.0', '12345'), 1);
    assert.equal(score('-12345', '12345'), 0);
    assert.equal(score('12 cm', '12'), 0);
    assert.equal(score('12,34', '1234'), 0);
    near(score('city of Paris', 'Paris'), 0.5);
  });

  it('names its parts and why', () => {
    const row = goldenRows<Row>('reward').find(({ id }) => id === 'R3')!;
    assert.deepEqual(judge(treeOf('paper', row.response, row.references), 0, SETTINGS), {
      total: 1.1,
      parts: { format: 0, accuracy: 1, tools: 0.1 },
      correct: true,
      answer: 'Paris',
      reason: 'Right, with more than one tool.',
    });
    assert.deepEqual(paper([ANSWER]), {
      total: -1,
      parts: { format: -1, accuracy: 0, tools: 0 },
      correct: false,
      reason: 'There is no <think> … </think>.',
    });
  });

  it('pays the bonus for tools that ran, not for tags in the text, and only for right answers', () => {
    const python = (outcome: ToolOutcome): Part[] => [
      { model: '<python>1</python>' },
      { tool: 'python', result: '1', outcome },
    ];
    assert.equal(paper([THINK, ...CALL, ...python('ok'), ANSWER]).total, 1.1);
    assert.equal(paper([THINK, ...CALL, ...python('error'), ANSWER]).total, 1.1, 'a failed run was a use');
    assert.equal(paper([THINK, ...CALL, ...python('refused'), ANSWER]).total, 1);
    assert.equal(paper([THINK, ...CALL, ...CALL, ANSWER]).total, 1, 'the same tool twice');
    assert.equal(
      paper([THINK, ...CALL, ...python('ok'), { model: '<answer>\\boxed{Rome}</answer>' }]).total,
      0,
    );
  });

  it('takes up to the penalty from the last tokens before the limit (DAPO’s soft penalty)', () => {
    const overlong = { limit: 100, tokens: 20, penalty: 0.5 };
    const losses = [0, 80, 81, 90, 100, 120].map(length => overlongLoss(length, overlong));
    [0, 0, 0.025, 0.25, 0.5, 0.5].forEach((expected, i) => near(losses[i]!, expected));
    assert.equal(overlongLoss(100, { ...overlong, tokens: 0 }), 0);
    const row = goldenRows<Row>('reward').find(({ id }) => id === 'R3')!;
    const tree = treeOf('paper', row.response, row.references);
    const limit = responseTokens(tree, 0);
    const reward = judge(tree, 0, { ...SETTINGS, overlong: { limit, tokens: 4, penalty: 1 } });
    near(reward.total, 0.1);
    assert.deepEqual(reward.parts, { format: 0, accuracy: 1, tools: 0.1, length: -1 });
    assert.equal(reward.correct, true);
  });

  it('finds calls without a result a bad format, each with its own reason', () => {
    const call = { model: '<search>q</search>' };
    assert.match(paper([THINK, ...CALL, call], 'call-limit').reason, /beyond the limit/);
    assert.match(paper([THINK, { model: '<search> </search>' }], 'empty-call').reason, /without an argument/);
    assert.match(paper([THINK, { model: '<search>q' }, ANSWER]).reason, /not finished/);
    assert.match(paper([THINK, ...CALL], 'length').reason, /no answer/);
    assert.match(
      paper([THINK, { model: '</answer>\\boxed{Paris}<answer>' }]).reason,
      /ends before it begins/,
    );
    assert.match(paper([THINK, { model: '<answer>\\boxed{Paris</answer>}' }]).reason, /no \\boxed/);
    assert.match(paper([THINK, { model: '<answer>\\boxed{\\frac{1}{2}</answer>' }]).reason, /has no end/);
  });
});
