import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { layOut, questionAt, type Wish } from '../../../webview/tree/layout.ts';
import { combs, SMALL } from './fixture.ts';

const wish = (part: Partial<Wish> = {}): Wish => ({
  mode: 'steps',
  opened: new Set(),
  window: 650,
  zoom: 1,
  ...part,
});

describe('the layout of a rollout tree', () => {
  it('puts a branch into the lane below the trajectory that it left', () => {
    const { lanes, boxOf } = layOut(SMALL, wish());
    assert.deepEqual(lanes, [0, 2, 1]);
    assert.deepEqual(
      boxOf.map(box => box?.lane),
      [0, 0, 2, 0, 0, 1],
    );
  });

  it('starts a segment where its parent and the questions asked there end', () => {
    // So wide that the largest scale, 6 pixels per token, fits.
    const { boxOf, metrics } = layOut(SMALL, wish({ window: 5000 }));
    const [prompt, turn, , tool, after] = boxOf;
    assert.equal(turn!.x, prompt!.x + prompt!.width + metrics.gap);
    assert.equal(turn!.width, 120);
    assert.equal(after!.x, tool!.x + tool!.width + metrics.gap + 2 * metrics.question);
  });

  it('shares a prefix: its box names every trajectory through it', () => {
    assert.deepEqual(layOut(SMALL, wish()).boxOf[3]!.paths, [0, 2]);
  });

  it('tells each box its level and its place among what hangs at the one above, questions first', () => {
    const { boxOf } = layOut(SMALL, wish());
    assert.deepEqual(
      [0, 2, 4, 5].map(at => [boxOf[at]!.depth, boxOf[at]!.rank, boxOf[at]!.ranks, boxOf[at]!.below]),
      [
        [0, 1, 1, 2],
        [1, 2, 2, 0],
        [3, 3, 4, 0],
        [3, 4, 4, 0],
      ],
    );
  });

  it('scales the longest trajectory into the width, between legible bounds', () => {
    const { width } = layOut(SMALL, wish());
    assert.ok(width <= 500 && width > 490, String(width));
    assert.equal(layOut(SMALL, wish({ window: 0 })).boxOf[3]!.width, 52);
  });

  it('folds steps in a row without a question, leaves the last one, and opens a run on demand', () => {
    const tree = combs(3, 8);
    const folded = layOut(tree, wish({ mode: 'folded' }));
    assert.deepEqual(
      folded.boxes.map(({ segments }) => segments.length),
      [1, 7, 1, 7, 1, 7, 1],
    );
    assert.equal(folded.boxOf[5], folded.boxOf[1]);
    assert.equal(folded.boxOf[8]!.depth, 2);
    assert.equal(layOut(tree, wish({ mode: 'folded', opened: new Set([1]) })).boxes.length, 13);
    // A question keeps its step in sight.
    assert.equal(layOut(SMALL, wish({ mode: 'folded' })).boxes.length, SMALL.segments.length);
  });

  it('fills the window with lanes at any zoom, and lets more questions than there is room for overlap', () => {
    const widthAt = (zoom: number): number =>
      layOut(combs(2, 8), wish({ mode: 'lanes', window: 300, zoom })).width;
    assert.ok(widthAt(1) <= 190 && widthAt(1) > 185 && widthAt(2) === widthAt(1), `${widthAt(1)}`);
    assert.ok(widthAt(0.6) <= 390 && widthAt(0.6) > 1.9 * widthAt(1), `${widthAt(0.6)}`);
    const asked = { ...SMALL, decisions: Array.from({ length: 12 }, () => SMALL.decisions[1]!) };
    const { boxOf, metrics } = layOut(asked, wish());
    const box = boxOf[3]!;
    assert.equal(boxOf[4]!.x, box.x + box.width + metrics.gap + 6 * metrics.question);
    assert.equal(questionAt(box, metrics, 11), box.x + box.width + 5.75 * metrics.question);
  });

  it('shows as much detail as can be taken in: steps, then folded, then lanes above 200 boxes', () => {
    const modeOf = (lanes: number, length: number): string =>
      layOut(combs(lanes, length), wish({ mode: 'auto' })).mode;
    assert.deepEqual(
      [modeOf(5, 10), modeOf(20, 10), modeOf(99, 10), modeOf(100, 10)],
      ['steps', 'folded', 'folded', 'lanes'],
    );
  });
});
