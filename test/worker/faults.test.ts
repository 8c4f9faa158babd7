/** What a person can mend pauses a run with a reason; mended, it goes on and comes to the same as one that nothing happened to. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'mocha';
import type { Event } from '../../src/core/events.ts';
import { fold } from '../../src/core/fold.ts';
import { FailureError } from '../../src/core/types.ts';
import { setClock } from '../../src/run/clock.ts';
import { interceptWrites, type Operation } from '../../src/run/disk.ts';
import { FILES, checkpointName } from '../../src/run/layout.ts';
import { connectWorker } from '../../src/run/lock.ts';
import { openRun } from '../../src/run/reader.ts';
import type { Equipment } from '../../src/worker/equipment.ts';
import { work, type Outcome } from '../../src/worker/session.ts';
import type { Control } from '../../src/worker/status.ts';
import { deedsOf } from '../fakes/sameRun.ts';
import { createTinyRun, tinyEquipment } from '../fakes/tinyRun.ts';

let parent: string;
let wanted: Record<string, unknown>;
let restore = (): void => undefined;

const diskError = (code: string): Error =>
  Object.assign(new Error(`${code}: refused by the test`), { code, syscall: 'write' });

/** A run's outcome and its pauses; `mend` is called at every pause, and the run goes on unless it says `stop`. */
async function take(
  folder: string,
  equipment: Equipment,
  on: { event?(event: Event): void; mend?(): 'stop' | void } = {},
): Promise<{ outcome: Outcome; reasons: string[] }> {
  const reasons: string[] = [];
  const outcome = await work(folder, equipment, (control: Control) => ({
    tell(event) {
      on.event?.(event);
      if (event.type !== 'paused') return;
      reasons.push(event.reason);
      assert.equal(control.status.state, 'paused');
      if (on.mend?.() === 'stop') control.verbs.stop();
      else control.verbs.resume();
    },
  }));
  return { outcome, reasons };
}

const make = (): Promise<string> => createTinyRun(parent);
const during = (step: number, act: () => void) => (event: Event) => {
  if (event.type === 'step-started' && event.step === step) act();
};

async function assertSame(folder: string): Promise<void> {
  const { files: _, ...deeds } = await deedsOf(folder);
  const { files: __, ...others } = wanted;
  assert.deepEqual(deeds, others);
}

/** Breaks writes from step 3 on until the run pauses, and says what the reason was. */
async function breakWrites(
  code: string,
  isHit: (operation: Operation, path: string) => boolean,
): Promise<string> {
  const folder = await make();
  let isBroken = false;
  let hits = 0;
  restore = interceptWrites((operation, path) => {
    if (!isBroken || !path.startsWith(folder) || !isHit(operation, path)) return;
    hits++;
    throw diskError(code);
  });
  const { outcome, reasons } = await take(folder, tinyEquipment(), {
    event: during(3, () => (isBroken = hits === 0)),
    mend: () => void (isBroken = false),
  });
  assert.equal(outcome, 'finished');
  assert.ok(hits > 0, 'nothing was refused');
  assert.equal(reasons.length, 1, reasons.join('\n'));
  await assertSame(folder);
  const state = fold(await openRun(folder).events());
  assert.equal(state.status, 'finished');
  return reasons[0]!;
}

describe('a run in trouble', () => {
  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'faults-'));
    const folder = await make();
    assert.deepEqual(await take(folder, tinyEquipment()), { outcome: 'finished', reasons: [] });
    wanted = await deedsOf(folder);
  });
  afterEach(() => restore());
  after(() => rmSync(parent, { recursive: true }));

  const full: [string, (operation: Operation, path: string) => boolean][] = [
    ['the journal', (operation, path) => operation === 'append' && path.endsWith('events.jsonl')],
    ['the trees', (operation, path) => operation === 'append' && path.endsWith('trees.jsonl')],
    ['the tokens', (operation, path) => operation === 'append' && path.endsWith('tokens.bin')],
    ['a new checkpoint’s folder', (operation, path) => operation === 'mkdir' && path.includes('checkpoints')],
    ['a checkpoint', (operation, path) => operation === 'write' && path.includes('checkpoints')],
    ['a checkpoint’s name', (operation, path) => operation === 'rename' && path.includes('checkpoints')],
    ['an evaluation', (operation, path) => operation === 'write' && path.includes('evaluations')],
  ];
  for (const [what, isHit] of full)
    it(`waits where the disk is full for ${what}, and loses nothing`, async () => {
      assert.match(
        await breakWrites('ENOSPC', isHit),
        /ENOSPC.*Free disk space or correct the folder’s rights/s,
      );
    });

  it('waits where its folder became read-only', async () => {
    assert.match(await breakWrites('EROFS', () => true), /EROFS/);
  });

  it('says over its socket that it waits, and why, while the journal cannot', async () => {
    const folder = await make();
    let isBroken = false;
    let breaks = 0;
    restore = interceptWrites((operation, path) => {
      if (isBroken && operation === 'append' && path.startsWith(folder)) throw diskError('ENOSPC');
    });
    let heard = (): void => undefined;
    const paused = new Promise<void>(resolve => (heard = resolve));
    const working = work(folder, tinyEquipment(), () => ({
      tell(event) {
        if (event.type === 'step-started' && event.step === 2) isBroken = breaks++ === 0;
        if (event.type === 'paused') heard();
      },
    }));
    await paused;
    const { remote, close } = await connectWorker(folder);
    const { state, phase } = await remote.status();
    assert.equal(state, 'paused');
    assert.match(phase, /^paused: .*cannot be written: ENOSPC/);
    assert.ok(!(await openRun(folder).events()).some(({ type }) => type === 'paused'));
    isBroken = false;
    await remote.resume();
    close();
    assert.equal(await working, 'finished');
    assert.ok((await openRun(folder).events()).some(({ type }) => type === 'paused'));
    await assertSame(folder);
  });

  it('can be stopped while it waits, and resumed later', async () => {
    const folder = await make();
    let isBroken = false;
    restore = interceptWrites((operation, path) => {
      if (isBroken && operation === 'append' && path.endsWith('trees.jsonl')) throw diskError('ENOSPC');
    });
    const on = { event: during(3, () => (isBroken = true)), mend: () => 'stop' as const };
    assert.equal((await take(folder, tinyEquipment(), on)).outcome, 'stopped');
    isBroken = false;
    assert.equal((await take(folder, tinyEquipment())).outcome, 'finished');
    await assertSame(folder);
  });

  it('does not wait where nobody is there to mend it, and can be resumed', async () => {
    const folder = await make();
    let isBroken = false;
    restore = interceptWrites((operation, path) => {
      if (isBroken && operation === 'append' && path.endsWith('trees.jsonl')) throw diskError('ENOSPC');
    });
    const tell = during(3, () => (isBroken = true));
    assert.equal(await work(folder, tinyEquipment(), () => ({ tell, isAlone: true })), 'failed');
    isBroken = false;
    const { failure, summaries } = fold(await openRun(folder).events());
    assert.match(failure?.message ?? '', /ENOSPC/);
    assert.equal(summaries.length, 2);
    assert.equal((await take(folder, tinyEquipment())).outcome, 'finished');
    await assertSame(folder);
  });

  it('waits where a tool has died, learns nothing from that step, and does it again', async () => {
    const folder = await make();
    let isDead = false;
    const tiny = tinyEquipment();
    const equipment: Equipment = {
      ...tiny,
      async openTools(config) {
        const pool = await tiny.openTools(config);
        return {
          ...pool,
          call: (tag, argument) =>
            isDead && tag === 'python'
              ? Promise.resolve({ outcome: 'failed', text: 'Error: no python', latencyMs: 1, shared: false })
              : pool.call(tag, argument),
        };
      },
    };
    const { outcome, reasons } = await take(folder, equipment, {
      event: during(3, () => (isDead = !isDead)),
      mend: () => void (isDead = true),
    });
    assert.equal(outcome, 'finished');
    assert.equal(reasons.length, 1);
    assert.match(
      reasons[0]!,
      /The tool <python> failed in all of its \d+ calls in step 3; .*no python"\. Mend the tool/,
    );
    await assertSame(folder);
  });

  it('waits where its corpus was removed before the last evaluation, which is made afterwards', async () => {
    const corpus = join(parent, 'corpus.jsonl');
    writeFileSync(corpus, '{"text":"sums"}\n');
    const folder = await createTinyRun(parent, { change: config => (config.tools.search.corpus = corpus) });
    const tiny = tinyEquipment();
    const equipment: Equipment = {
      ...tiny,
      openTools(config) {
        try {
          renameSync(corpus, corpus);
        } catch (error) {
          const message = `${corpus} cannot be read: ${(error as Error).message}`;
          return Promise.reject(new FailureError({ where: 'config', message }));
        }
        return tiny.openTools(config);
      },
    };
    const { outcome, reasons } = await take(folder, equipment, {
      event: during(4, () => renameSync(corpus, `${corpus}.away`)),
      mend: () => (renameSync(`${corpus}.away`, corpus), undefined),
    });
    assert.equal(outcome, 'finished');
    assert.equal(reasons.length, 1);
    assert.match(reasons[0]!, /corpus\.jsonl cannot be read: ENOENT/);
    await assertSame(folder);
  });

  const jumps: Record<number, number> = { 2: 365 * 864e5, 3: -30 * 864e5 };
  const jumping = (): ((event: Event) => void) => {
    let offset = 0;
    restore = setClock(() => Date.now() + offset);
    return event => {
      if (event.type === 'step-started') offset = jumps[event.step] ?? offset;
    };
  };
  const secondsOf = (texts: readonly string[]): (string | undefined)[] =>
    texts.map(text => /jumped by (-?\d+) seconds/.exec(text)?.[1]);
  const jumped = ['31536000', '-34128000'];

  it('waits after the step in which the clock jumped, with all of it saved, and says why', async () => {
    const folder = await make();
    const event = jumping();
    const saved: string[][] = [];
    const mend = (): void => void saved.push(readdirSync(join(folder, FILES.checkpoints)).toSorted());
    const { outcome, reasons } = await take(folder, tinyEquipment(), { event, mend });
    assert.equal(outcome, 'finished');
    assert.deepEqual(secondsOf(reasons), jumped);
    assert.deepEqual(
      saved.map(names => names.at(-1)),
      [checkpointName(2), checkpointName(3)],
    );
    const { summaries } = fold(await openRun(folder).events());
    for (const { summary } of summaries)
      assert.ok(summary.seconds!.total >= 0 && summary.seconds!.total < 600, `${summary.seconds!.total} s`);
    const { trees, weights } = await deedsOf(folder);
    assert.deepEqual({ trees, weights }, { trees: wanted.trees, weights: wanted.weights });
  });

  it('does not wait again for a jump of the clock while it waited', async () => {
    const folder = await make();
    let offset = 0;
    restore = setClock(() => Date.now() + offset);
    const event = during(2, () => (offset = 864e5));
    const mend = (): void => void (offset *= 2);
    const { outcome, reasons } = await take(folder, tinyEquipment(), { event, mend });
    assert.equal(outcome, 'finished');
    assert.deepEqual(secondsOf(reasons), ['86400']);
  });

  it('goes on where the clock jumps and nobody is there, and says so', async () => {
    const folder = await make();
    const tell = jumping();
    assert.equal(await work(folder, tinyEquipment(), () => ({ tell, isAlone: true })), 'finished');
    const { warnings, summaries } = fold(await openRun(folder).events());
    assert.deepEqual(secondsOf(warnings.map(({ failure }) => failure.message)), jumped);
    assert.equal(summaries.length, 4);
  });

  it('refuses to go on with other data, and says which; put back, it goes on', async () => {
    const own = mkdtempSync(join(parent, 'data-'));
    const folder = await createTinyRun(own);
    await work(folder, tinyEquipment(), control => ({
      tell: event => {
        if (event.type === 'step-started' && event.step === 2) control.verbs.stop();
      },
    }));
    writeFileSync(join(own, 'train.jsonl'), '{"other":1}\n');
    assert.equal((await take(folder, tinyEquipment())).outcome, 'failed');
    const { failure } = fold(await openRun(folder).events());
    assert.equal(failure?.where, 'config');
    assert.match(failure.message, /train\.jsonl \(train\) is not what the run was started with/);
    assert.match(failure.fix ?? '', /Put it back/);
    writeFileSync(join(own, 'train.jsonl'), '{}\n');
    assert.equal((await take(folder, tinyEquipment())).outcome, 'finished');
    await assertSame(folder);
  });
});
