/**
 * A worker of a tiny run with a real engine, as a process of its own, that kills itself or its engine with SIGKILL at a moment that
 * its arguments name: `killable.ts FOLDER MOMENT`, where MOMENT is a JSON `Moment` or `none`.
 */
import { appendFileSync } from 'node:fs';
import { interceptWrites } from '../../src/run/disk.ts';
import { realEquipment, type Equipment } from '../../src/worker/equipment.ts';
import type { EmbeddedPolicy } from '../../src/worker/policy/embedded/client.ts';
import type { Policy } from '../../src/worker/policy/policy.ts';
import { work } from '../../src/worker/session.ts';
import { openTokenizer } from '../../src/worker/tokenizer.ts';
import { tinyEquipment } from './tinyRun.ts';

/** When to kill, and whom. `count` counts such things from 1; `share` is how far into it, where that has a meaning. */
export interface Moment {
  victim: 'worker' | 'engine';
  at: 'time' | 'write' | 'sample' | 'accumulate' | 'step' | 'save' | 'tool';
  /** Milliseconds after this worker's first step began, for `time`. */
  ms: number;
  count: number;
  share: number;
}

const [folder, text] = process.argv.slice(2) as [string, string];
const moment = text === 'none' ? undefined : (JSON.parse(text) as Moment);
let trainer: EmbeddedPolicy | undefined;
const seen = new Map<Moment['at'], number>();

function kill(): void {
  const pid = moment!.victim === 'worker' ? process.pid : trainer?.pid;
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  } catch (error) {
    // The run is ending, and its engine has ended already.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const isDue = (at: Moment['at']): boolean => {
  seen.set(at, (seen.get(at) ?? 0) + 1);
  return moment?.at === at && seen.get(at) === moment.count;
};

/** A write in the middle of which the worker dies has written a part of its bytes. */
interceptWrites((operation, path, bytes) => {
  if (!isDue('write')) return;
  if (operation === 'append' && bytes)
    appendFileSync(path, bytes.subarray(0, Math.floor(moment!.share * bytes.length)));
  kill();
});

/** Kills some way into the verb: what a policy does takes milliseconds. */
function during<A extends unknown[], R>(
  at: Moment['at'],
  verb: (...args: A) => Promise<R>,
): (...args: A) => Promise<R> {
  return (...args) => {
    if (isDue(at)) setTimeout(kill, moment!.share * 20);
    return verb(...args);
  };
}

const real = realEquipment(() => undefined);
const tiny = tinyEquipment({ toolDelayMs: 3 });
const equipment: Equipment = {
  ...tiny,
  openTokenizer,
  async openPolicy(settings) {
    const { policy, info } = await real.openPolicy({ ...settings, threads: 1 });
    if (!settings.trainable) return { policy, info };
    trainer = policy as EmbeddedPolicy;
    const watched: Policy = {
      ...policy,
      sample: during('sample', policy.sample),
      accumulate: during('accumulate', policy.accumulate),
      step: during('step', policy.step),
      save: during('save', policy.save),
    };
    return { policy: watched, info };
  },
  async openTools(config, warn) {
    const pool = await tiny.openTools(config, warn);
    return { ...pool, call: during('tool', pool.call) };
  },
};

let begun = 0;
const outcome = await work(folder, equipment, () => ({
  tell(event) {
    if (event.type !== 'step-started' || begun > 0) return;
    begun = performance.now();
    if (moment?.at === 'time') setTimeout(kill, moment.ms);
  },
}));
// What a run without a kill counted says which moments there are.
process.stdout.write(JSON.stringify({ ms: performance.now() - begun, ...Object.fromEntries(seen) }));
process.exitCode = outcome === 'finished' ? 0 : 1;
