import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Fact } from '../../src/core/events.ts';
import type { StopReason } from '../../src/core/types.ts';
import { makeControl } from '../../src/worker/status.ts';

const grown = (segment: number, stop: StopReason): Fact => ({
  type: 'segment-grown',
  tree: '1.0',
  segment,
  parent: 0,
  kind: 'model',
  tokens: 3,
  turn: 0,
  path: 0,
  origin: 'initial',
  stop,
});

describe('control', () => {
  it('counts every way in which a trajectory ends, and no call, as one that has ended', () => {
    const control = makeControl('run', { steps: 2, groupSize: 8 });
    const stops: StopReason[] = ['call', 'answer', 'length', 'turn-length', 'call-limit', 'empty-call'];
    const facts: Fact[] = [
      { type: 'step-started', tasks: ['a'] },
      ...stops.map((stop, i) => grown(i + 1, stop)),
    ];
    facts.forEach((fact, seq) => control.observe({ seq, at: '2026-01-01T00:00:00.000Z', step: 1, ...fact }));
    assert.equal(control.status.phase, 'sampling 5/8');
  });
});
