import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import * as scheduler from '../../src/core/scheduler.ts';
import type { Growth, GrowthRules, Turn } from '../../src/core/scheduler.ts';
import { goldenRows } from '../golden/read.ts';

type End = 'call' | 'answer' | 'length';
type Scripted = [entropy: number, end: End, tokens?: number];

interface Row {
  id: string;
  initial: number;
  total: number;
  callLimit: number;
  turns: Scripted[][];
  draws: number[];
  parents: (number | null)[];
  calls: number[];
  drawsUsed: number;
  turnRounds: number;
  forcedTokens?: number;
}

const rules = (changes: Partial<GrowthRules>): GrowthRules => ({
  rule: 'paper',
  gate: 'bernoulli',
  branchProbability: 0.5,
  entropyWeight: 0.2,
  threshold: 0.5,
  initial: 2,
  total: 4,
  beamSize: 2,
  window: 20,
  callLimit: 3,
  maxResponseTokens: 1000,
  maxTurnTokens: 0,
  ...changes,
});

interface Played {
  growth: Growth;
  drawsUsed: number;
  /** The phases that had something to do, in order. */
  phases: string[];
  /** What every number was drawn for: path’s key, turn, attempt. */
  drawnFor: string[];
}

/** Grows a tree of which slot n says turns[n] one after the other, and draws[0], draws[1], … are drawn. */
function play(
  given: GrowthRules,
  turns: readonly Scripted[][],
  draws: readonly number[],
  resultTokens = 4,
): Played {
  let growth = scheduler.plant(given, { tokens: 3, text: 'prompt' });
  const said = new Map<number, number>();
  const phases: string[] = [];
  const drawnFor: string[] = [];
  const draw: scheduler.Draw = (...key) =>
    draws[drawnFor.push(key.join(' ')) - 1] ?? assert.fail('more numbers were drawn than scripted');
  const scripted = (path: number): Scripted =>
    turns[path]?.[said.get(path) ?? 0] ?? assert.fail(`path ${path} has no turn`);
  for (let plan = scheduler.plan(growth); plan.phase !== 'done'; plan = scheduler.plan(growth)) {
    phases.push(plan.phase);
    if (plan.phase === 'preview') {
      const windows = plan.samples.map(({ path, maxTokens }) => {
        const [entropy, , tokens = 30] = scripted(path);
        return { path, window: { entropy, tokens: Math.min(tokens, maxTokens) } };
      });
      growth = scheduler.apply(growth, { phase: 'preview', windows }, draw);
    } else if (plan.phase === 'turn') {
      const done = plan.samples.map(({ path, maxTokens }): Turn => {
        const [entropy, end, tokens = 30] = scripted(path);
        said.set(path, (said.get(path) ?? 0) + 1);
        const isCut = tokens > maxTokens;
        const count = Math.min(tokens, maxTokens);
        const window = { entropy, tokens: Math.min(given.window, count) };
        const call = { type: 'call', tool: 'search', argument: 'q' } as const;
        return {
          path,
          tokens: count,
          text: '',
          window,
          end: isCut ? { type: 'length' } : end === 'call' ? call : { type: end },
        };
      });
      growth = scheduler.apply(growth, { phase: 'turn', turns: done.reverse() }, draw);
    } else {
      const answers = plan.calls.map(({ path, tool, argument, room, limit }) => ({
        path,
        tokens: Math.min(room, resultTokens),
        text: '',
        call: {
          ...{ tool, argument, latencyMs: 1, shared: false },
          outcome: limit === undefined ? ('ok' as const) : ('refused' as const),
        },
      }));
      growth = scheduler.apply(growth, { phase: 'call', answers: answers.reverse() }, draw);
    }
  }
  return { growth, drawsUsed: drawnFor.length, phases, drawnFor };
}

const outcomes = ({ growth }: Played) => growth.decisions.map(({ path, outcome }) => `${path} ${outcome}`);
const stops = ({ growth }: Played) => growth.tips.map(({ stop }) => stop);

describe('scheduler', () => {
  for (const row of goldenRows<Row>('scheduler'))
    it(`grows ${row.id} as the released code does`, () => {
      const { initial, total, callLimit } = row;
      const played = play(rules({ rule: 'upstream', initial, total, callLimit }), row.turns, row.draws);
      const paths = scheduler.pathsOf(played.growth);
      assert.deepEqual(
        paths.map(({ from }) => from?.path ?? null),
        row.parents,
      );
      assert.deepEqual(
        paths.map(({ calls }) => calls),
        row.calls,
      );
      assert.equal(played.drawsUsed, row.drawsUsed);
      assert.equal(played.phases.filter(phase => phase === 'turn').length, row.turnRounds);
      const forced = played.growth.segments.filter(({ kind }) => kind === 'forced');
      assert.equal(
        forced.reduce((sum, { count }) => sum + count, 0),
        row.forcedTokens ?? 0,
      );
    });

  it('asks upstream with the entropy from before the result, and records the two refusals of T1', () => {
    const [row] = goldenRows<Row>('scheduler');
    const { growth } = play(rules({ rule: 'upstream' }), row!.turns, row!.draws);
    const asked = growth.decisions.map(({ path, round, entropyDelta, draw, outcome }) => [
      path,
      round,
      entropyDelta,
      draw,
      outcome,
    ]);
    assert.deepEqual(asked, [
      [0, 0, 0, 0.6, 'refuse'],
      [1, 0, 0, 0.3, 'branch'],
      [1, 1, 0, 0.51, 'refuse'],
      [2, 1, 0, 0.45, 'branch'],
    ]);
  });

  it('previews after a result under rule paper, against the first turn of the trajectory', () => {
    const turns: Scripted[][] = [
      [
        [0.4, 'call'],
        [0.9, 'call'],
        [0.1, 'answer'],
      ],
      [[0.6, 'answer']],
      [
        [2, 'call'],
        [0.7, 'answer'],
      ],
      [[0.5, 'answer']],
    ];
    // The child is not asked again where it was made; the parent and the child are asked after their second results.
    const played = play(rules({}), turns, [0.6, 0.9, 0.9]);
    assert.deepEqual(outcomes(played), ['0 branch', '0 refuse', '2 refuse']);
    const [first, second, third] = played.growth.decisions;
    assert.deepEqual([first!.initialEntropy, first!.entropy, first!.windowTokens], [0.4, 0.9, 20]);
    assert.deepEqual([second!.initialEntropy, second!.entropy], [0.4, 0.1]);
    assert.deepEqual([third!.initialEntropy, third!.entropy], [0.4, 0.7], 'the child inherits its baseline');
    const paths = scheduler.pathsOf(played.growth);
    assert.deepEqual(paths[2]!.from, { path: 0, segment: first!.segment });
    assert.equal(played.growth.segments[first!.segment]!.kind, 'tool');
    assert.deepEqual(
      paths.map(({ origin }) => origin),
      ['initial', 'initial', 'branch', 'fill'],
    );
    assert.deepEqual(played.phases, ['turn', 'call', 'preview', 'turn', 'call', 'preview', 'turn', 'turn']);
  });

  it('fills all that is missing at once under rule paper', () => {
    const played = play(
      rules({ initial: 1, total: 5 }),
      Array.from({ length: 5 }, () => [[0.4, 'answer']]),
      [],
    );
    assert.deepEqual(played.phases, ['turn', 'turn']);
    assert.deepEqual(
      played.growth.tips.map(({ origin }) => origin),
      ['initial', 'fill', 'fill', 'fill', 'fill'],
    );
  });

  it('records a question for which no trajectory is left, without a preview', () => {
    const turns: Scripted[][] = [
      [
        [0.4, 'call'],
        [0.5, 'call'],
        [0.8, 'answer'],
      ],
      [
        [0.5, 'call'],
        [0.6, 'answer'],
      ],
    ];
    const played = play(rules({ initial: 1, total: 2 }), turns, [0.1]);
    assert.deepEqual(outcomes(played), ['0 branch', '0 budget', '1 budget']);
    assert.deepEqual(played.phases, ['turn', 'call', 'preview', 'turn', 'call', 'turn']);
    const [, spent] = played.growth.decisions;
    assert.equal(spent!.entropy, 0.8);
    assert.equal('draw' in spent!, false);
  });

  it('asks nothing where all trajectories start from the prompt (GRPO)', () => {
    for (const rule of ['paper', 'upstream'] as const) {
      const played = play(
        rules({ rule, initial: 2, total: 2 }),
        [
          [
            [0.4, 'call'],
            [0.9, 'answer'],
          ],
          [[0.5, 'answer']],
        ],
        [],
      );
      assert.deepEqual(played.growth.decisions, []);
      assert.deepEqual(played.phases, ['turn', 'call', 'turn']);
    }
  });

  it('makes up to beamSize − 1 children of one question, one decision each', () => {
    const turns: Scripted[][] = [
      [
        [0.4, 'call'],
        [0.5, 'answer'],
      ],
      [[0.5, 'answer']],
      [[0.5, 'answer']],
      [[0.5, 'answer']],
    ];
    const played = play(rules({ initial: 1, total: 4, beamSize: 4 }), turns, [0.1, 0.9, 0.2]);
    assert.deepEqual(outcomes(played), ['0 branch', '0 refuse', '0 branch']);
    assert.deepEqual(
      played.growth.tips.map(({ key }) => key),
      ['0', '0/1.0', '0/1.2', '3'],
    );
    assert.deepEqual(played.drawnFor, ['0 1 0', '0 1 1', '0 1 2'], 'each try has a number of its own');
  });

  it('asks the threshold gate once, since a further try would be answered alike', () => {
    const turns: Scripted[][] = [
      [
        [0.4, 'call'],
        [0.5, 'answer'],
      ],
      [[0.5, 'answer']],
      [[0.5, 'answer']],
      [[0.5, 'answer']],
    ];
    const given = rules({ initial: 1, total: 4, beamSize: 4, gate: 'threshold' });
    assert.deepEqual(outcomes(play({ ...given, threshold: 0.6 }, turns, [])), ['0 refuse']);
    const passed = play({ ...given, threshold: 0.51 }, turns, []);
    assert.deepEqual(outcomes(passed), ['0 branch', '0 branch', '0 branch']);
  });

  it('gives a branch what its source left of tokens and calls', () => {
    const turns: Scripted[][] = [
      [
        [0.4, 'call', 30],
        [0.5, 'answer', 10],
      ],
      [
        [0.5, 'call', 5],
        [0.5, 'answer', 30],
      ],
    ];
    const given = rules({ initial: 1, total: 2, callLimit: 2, maxResponseTokens: 50 });
    const { growth } = play(given, turns, [0]);
    // 30 and the result's 4 were there before it; 5, 4 and 7 of 30 fit behind them.
    assert.deepEqual(
      growth.tips.map(({ response, calls, stop }) => [response, calls, stop]),
      [
        [44, 1, 'answer'],
        [50, 2, 'length'],
      ],
    );
  });

  it('ends a trajectory, or answers it with a message, at the limit of one tool as at that of all', () => {
    const turns: Scripted[][] = [
      [...Array.from({ length: 3 }, (): Scripted => [0.5, 'call']), [0.5, 'answer']],
      [],
    ];
    const given = rules({ initial: 1, total: 1, toolLimits: { search: 1, toString: 0 } });
    const ended = play(given, turns, []);
    assert.deepEqual([stops(ended), ended.growth.tips[0]!.calls], [['call-limit'], 1]);
    const told = play({ ...given, onLimit: 'message' }, turns, []);
    assert.deepEqual([stops(told), told.growth.tips[0]!.calls], [['answer'], 1]);
    assert.deepEqual(
      told.growth.segments.flatMap(({ call }) => call?.outcome ?? []),
      ['ok', 'refused', 'refused'],
    );
    // A message brings nothing that could be asked about: one question, at the tool's own answer.
    const asking = { ...given, initial: 1, total: 2, onLimit: 'message' } as const;
    const asked = play(asking, [turns[0]!, [[0.5, 'answer']]], [0.9]);
    assert.deepEqual(outcomes(asked), ['0 refuse']);
  });

  it('ends a trajectory that calls with nothing to ask', () => {
    const growth = scheduler.plant(rules({ initial: 1, total: 1 }), { tokens: 1, text: '' });
    const end = { type: 'call', tool: 'search', argument: '' } as const;
    const turn: Turn = { path: 0, tokens: 3, text: '', window: { entropy: 1, tokens: 3 }, end };
    const next = scheduler.apply(growth, { phase: 'turn', turns: [turn] }, () => 0);
    assert.deepEqual([next.phase, next.tips[0]!.stop, next.tips[0]!.calls], ['done', 'empty-call', 0]);
  });

  const calls = (count: number): Scripted[] => [
    ...Array.from({ length: count }, (): Scripted => [0.5, 'call']),
    [0.5, 'answer'],
  ];
  const counted = ({ growth }: Played) =>
    growth.decisions.map(({ path, round, penalty, outcome }) => [path, round, penalty?.consecutive, outcome]);

  it('counts branchings in a row along a trajectory, and a branch goes on counting (AEPO, paper)', () => {
    const turns = [calls(3), calls(3), calls(3), calls(0), calls(0), calls(0), calls(0)];
    const given = rules({ penalty: 'paper', penaltyRate: 0.25, initial: 1, total: 7 });
    // Path 1 leaves path 0 and path 2 leaves path 1, each after two calls fewer are left; P is .5, .375, .25.
    const played = play(given, turns, [0.1, 0.4, 0.3, 0.9, 0.3, 0.2]);
    assert.deepEqual(counted(played), [
      [0, 1, 0, 'branch'],
      [0, 2, 1, 'refuse'],
      [1, 2, 1, 'branch'],
      [0, 3, 0, 'refuse'],
      [1, 3, 2, 'refuse'],
      [2, 3, 2, 'branch'],
    ]);
    const probabilities = played.growth.decisions.map(({ probability }) => probability);
    assert.deepEqual(probabilities, [0.5, 0.375, 0.375, 0.5, 0.25, 0.25]);
  });

  it('counts the rounds in a row in which the tree got a trajectory, by branch or from the prompt (AEPO, upstream)', () => {
    const turns = [calls(3), calls(2), calls(1), calls(1), calls(0)];
    const given = rules({ rule: 'upstream', penalty: 'upstream', initial: 1, total: 5 });
    // At l = 0 a draw of .5 branches, at l = 1 a draw of .5 no longer does but .6 does.
    const played = play(given, turns, [0.5, 0.5, 0.6, 0.4, 0.3, 0.2, 0.5]);
    assert.deepEqual(counted(played), [
      [0, 0, 0, 'branch'],
      [0, 1, 1, 'refuse'],
      [1, 1, 1, 'branch'],
      [0, 2, 2, 'refuse'],
      [1, 2, 2, 'refuse'],
      [2, 2, 2, 'refuse'],
      // Round 2 made none, so the counter fell; round 3 fills one up, which counts as much as a branch.
      [3, 4, 1, 'refuse'],
    ]);
  });

  it('ends a path where its response tokens end, and cuts what does not fit', () => {
    const response = (played: Played) => played.growth.tips.map(tip => tip.response);
    const plain = { initial: 1, total: 1 };
    const long = play(rules({ ...plain, maxResponseTokens: 50 }), [[[0.4, 'answer', 80]]], []);
    assert.deepEqual([stops(long), response(long)], [['length'], [50]]);
    const cut = play(rules({ ...plain, maxResponseTokens: 33 }), [[[0.4, 'call', 30]]], []);
    assert.deepEqual([stops(cut), response(cut), cut.growth.segments.at(-1)!.count], [['length'], [33], 3]);
    const full = play(rules({ ...plain, maxResponseTokens: 30 }), [[[0.4, 'call', 30]]], []);
    assert.deepEqual(
      [stops(full), full.phases],
      [['length'], ['turn']],
      'no tool is called for a result without room',
    );
    const turn = play(rules({ ...plain, maxTurnTokens: 20 }), [[[0.4, 'answer', 21]]], []);
    assert.deepEqual([stops(turn), response(turn)], [['turn-length'], [20]]);
  });

  it('grows the same tree in whatever order results arrive', () => {
    const both: Scripted[][] = [
      [
        [0.4, 'call'],
        [0.4, 'answer'],
      ],
      [
        [0.5, 'call'],
        [0.5, 'answer'],
      ],
    ];
    const { growth } = play(rules({ initial: 2, total: 2 }), both, []);
    const results = growth.segments.flatMap(({ kind }, index) =>
      kind === 'tool' ? [growth.growers[index]] : [],
    );
    assert.deepEqual(results, [0, 1], 'the last path’s result was reported first');
  });

  it('appends no end-of-sequence at the call limit where there is no token left for it', () => {
    const turns: Scripted[][] = [[[0.4, 'call', 30]]];
    const kinds = (maxResponseTokens: number): string[] =>
      play(rules({ initial: 1, total: 1, callLimit: 0, maxResponseTokens }), turns, []).growth.segments.map(
        ({ kind }) => kind,
      );
    assert.deepEqual(kinds(31), ['prompt', 'model', 'forced']);
    assert.deepEqual(kinds(30), ['prompt', 'model']);
  });

  it('refuses reports of another phase', () => {
    const growth = scheduler.plant(rules({}), { tokens: 1, text: '' });
    assert.throws(
      () => scheduler.apply(growth, { phase: 'call', answers: [] }, () => 0),
      /waits for its turn phase/,
    );
  });
});
