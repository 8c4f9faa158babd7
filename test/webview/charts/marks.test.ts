import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { placeMarks } from '../../../webview/charts/look.ts';
import type { Mark } from '../../../webview/charts/plot.ts';

/** What is drawn of marks that stand at their steps: kind, pixel, and whether as a frame. */
function drawn(...marks: [kind: Mark['kind'], step: number][]): string[] {
  const all: string[] = [];
  placeMarks(
    marks.map(([kind, step]): Mark => ({ kind, step, x: step, text: '' })),
    ({ x }) => x,
    (kind, pixel, isFrame) => all.push(`${kind} ${pixel}${isFrame ? ' frame' : ''}`),
  );
  return all;
}

describe('marks above a chart', () => {
  it('leave out what has no room, the rarer kinds last', () => {
    assert.deepEqual(drawn(['checkpoint', 40], ['checkpoint', 41], ['evaluation', 3]), [
      'evaluation 3',
      'checkpoint 40',
    ]);
    assert.deepEqual(drawn(['checkpoint', 100], ['resume', 101]), ['resume 101']);
  });

  it('show a checkpoint as a frame around the evaluation of its step', () => {
    assert.deepEqual(drawn(['checkpoint', 18], ['evaluation', 18]), ['evaluation 18', 'checkpoint 18 frame']);
  });
});
