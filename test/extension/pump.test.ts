import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Event } from '../../src/core/events.ts';
import type { Batch } from '../../src/extension/pump.ts';
import { headlines, makePump, settled, summed } from '../../src/extension/pump.ts';

const facts = (from: number, count: number): Event[] =>
  Array.from({ length: count }, (_, i): Event => ({
    seq: from + i,
    at: '',
    step: 0,
    type: 'resumed',
    from: '',
  }));

/** A view that takes batches when it is told to. */
function slowView() {
  const batches: Batch[] = [];
  const open: (() => void)[] = [];
  const send = (batch: Batch): Promise<void> => {
    batches.push(batch);
    return new Promise(resolve => open.push(resolve));
  };
  const take = async (): Promise<void> => {
    open.shift()!();
    await new Promise(resolve => setImmediate(resolve));
  };
  return { batches, send, take, shape: () => batches.map(({ from, events }) => [from, events.length]) };
}

const noFailure = (error: unknown): never => assert.fail(String(error));

describe('pump', () => {
  it('sends one batch at a time and merges what arrives meanwhile', async () => {
    const view = slowView();
    const pump = makePump(view.send, noFailure);
    pump.push(facts(0, 3));
    pump.push(facts(3, 1));
    pump.push(facts(4, 2));
    assert.deepEqual(view.shape(), [[0, 3]]);
    await view.take();
    assert.deepEqual(view.shape(), [
      [0, 3],
      [3, 3],
    ]);
    await view.take();
    assert.equal(view.batches.length, 2);
    pump.push(facts(6, 1));
    assert.deepEqual(view.shape().at(-1), [6, 1]);
  });

  it('splits 4,500 facts into messages of at most 2,000, and says which are not the last', async () => {
    const view = slowView();
    makePump(view.send, noFailure).push(facts(0, 4500));
    await view.take();
    await view.take();
    assert.deepEqual(view.shape(), [
      [0, 2000],
      [2000, 2000],
      [4000, 500],
    ]);
    assert.deepEqual(
      view.batches.map(({ more }) => more),
      [true, true, undefined],
    );
  });

  it('tells a view to forget when the journal was replaced, even by nothing', async () => {
    const view = slowView();
    const pump = makePump(view.send, noFailure);
    pump.push(facts(0, 5));
    pump.restart([]);
    await view.take();
    assert.deepEqual(view.shape(), [
      [0, 5],
      [0, 0],
    ]);
  });

  it('tells its owner once when a view fails, and nothing when it was stopped', async () => {
    const failures: string[] = [];
    const pump = makePump(
      () => Promise.reject(new Error('gone')),
      error => void failures.push((error as Error).message),
    );
    pump.push(facts(0, 1));
    await new Promise(resolve => setImmediate(resolve));
    pump.push(facts(1, 1));
    await new Promise(resolve => setImmediate(resolve));
    assert.deepEqual(failures, ['gone']);

    const stopped = makePump(() => Promise.reject(new Error('closed')), noFailure);
    stopped.push(facts(0, 1));
    stopped.stop();
    await new Promise(resolve => setImmediate(resolve));
  });

  it('leaves the growth of finished steps out of what a view opens with', () => {
    const grown = (step: number, seq: number): Event => ({
      seq,
      at: '',
      step,
      type: 'tool-answered',
      tree: `${step}.0`,
      segment: 1,
      call: { tool: 'search', outcome: 'ok', latencyMs: 1, shared: false },
    });
    const finished = { seq: 2, at: '', step: 1, type: 'step-finished' } as Event;
    assert.deepEqual(
      settled([
        grown(1, 0),
        { seq: 1, at: '', step: 1, type: 'step-started', tasks: [] },
        finished,
        grown(2, 3),
      ]).map(({ seq }) => seq),
      [1, 2, 3],
    );
  });

  it('tells a view of the steps nothing of single trees, but for the step that is under way', () => {
    const tell = (step: number, ...types: Event['type'][]): Event[] =>
      types.map(type => ({ seq: 0, at: '', step, type }) as Event);
    const shown = headlines([
      ...tell(1, 'step-started', 'segment-grown', 'branch-decided', 'tree-finished', 'step-finished'),
      ...tell(1, 'checkpoint-saved', 'evaluated', 'warned'),
      ...tell(2, 'step-started', 'tree-finished', 'step-finished'),
      // Step 2 is done again.
      ...tell(1, 'resumed'),
      ...tell(2, 'step-started', 'segment-grown', 'tree-finished'),
    ]).map(({ type, step }) => `${step} ${type}`);
    assert.deepEqual(shown.slice(0, 4), ['1 step-finished', '1 checkpoint-saved', '1 evaluated', '1 warned']);
    assert.deepEqual(shown.slice(-4), ['1 resumed', '2 step-started', '2 segment-grown', '2 tree-finished']);
  });

  it('keeps of a run that is compared what its steps came to', () => {
    const types = (
      ['run-started', 'segment-grown', 'branch-decided', 'step-finished', 'evaluated', 'warned'] as const
    ).map((type, seq) => ({ seq, at: '', step: 1, type }) as Event);
    assert.deepEqual(
      summed(types).map(({ type }) => type),
      ['run-started', 'step-finished', 'evaluated'],
    );
  });
});
