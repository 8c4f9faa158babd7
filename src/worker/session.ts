/**
 * One worker's life with one run folder: it owns lock, socket and journal, makes attempts until the run has ended, and tells how.
 * Knows nothing of what an attempt opens, of terminals, or of which engine and tools it is given.
 */
import { createServer, type Socket } from 'node:net';
import { basename } from 'node:path';
import type { Event, Fact } from '../core/events.ts';
import type { Failure } from '../core/types.ts';
import { serve } from '../protocol/channel.ts';
import type { WorkerVerbs } from '../protocol/verbs.ts';
import { watchJumps } from '../run/clock.ts';
import { Journal } from '../run/journal.ts';
import { acquireLock } from '../run/lock.ts';
import { socketPort } from '../run/ports.ts';
import { openRun } from '../run/reader.ts';
import { openAndTrain, type Life } from './attempt.ts';
import { closeAll } from './closing.ts';
import type { Equipment } from './equipment.ts';
import { canBeMended, failureOf, waitForMending } from './mending.ts';
import { makeControl, type Control } from './status.ts';

/** Who looks on. */
export interface Watcher {
  tell(event: Event): void;
  /** True where nobody would see a pause: a run that meets what can be mended then ends as failed, to be resumed, and does not wait. */
  isAlone?: boolean;
  /** True where the run is only measured: no checkpoint is saved. */
  isTrial?: boolean;
}
export type Outcome = 'finished' | 'stopped' | 'failed';

/**
 * Takes the run from where it is to its end. Throws where the folder is no run or another worker owns it; every later failure
 * is told as the run's end.
 */
export async function work(
  runFolder: string,
  equipment: Equipment,
  watch: (control: Control) => Watcher,
): Promise<Outcome> {
  const { manifest } = openRun(runFolder);
  const { config } = manifest;
  const lock = acquireLock(runFolder);
  const control = makeControl(basename(runFolder), {
    steps: config.steps,
    groupSize: config.rollout.groupSize,
  });
  const closers: Life['closers'] = [() => lock.release()];
  try {
    closers.push(await listen(lock.content.socket, control.verbs));
    const journal = Journal.open(runFolder);
    closers.push(() => journal.close());
    const watcher = watch(control);
    const announce = (event: Event): void => {
      control.observe(event);
      watcher.tell(event);
    };
    const jumps = watchJumps();
    const canWait = watcher.isAlone !== true;
    const tell = (fact: Fact, step: number): void => {
      const jump = jumps();
      if (Math.abs(jump) > NOTED_JUMP_MS) {
        announce(journal.tell(clockJumped(jump), step));
        // A machine that slept while the run waited was woken by who lets it go on.
        if (canWait && fact.type !== 'resumed')
          control.holdUp(`${jumpText(jump)} Nothing is lost: resume the run to go on.`);
      }
      announce(journal.tell(fact, step));
    };
    const given = { runFolder, manifest, config, equipment, control, journal };
    const savesNothing = watcher.isTrial === true;
    return await live({ ...given, announce, tell, canWait, savesNothing, closers: [] });
  } finally {
    control.settle('ended');
    await closeAll(closers);
  }
}

/** Answers verbs on the socket; they are answered at once, because engines compute in processes of their own. */
async function listen(path: string, verbs: WorkerVerbs): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serve<WorkerVerbs>(socketPort(socket), {
      status: () => verbs.status(),
      pause: () => verbs.pause(),
      resume: () => verbs.resume(),
      stop: () => verbs.stop(),
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  return () =>
    new Promise(resolve => {
      const cut = setTimeout(() => sockets.forEach(socket => socket.destroy()), LAST_ANSWERS_MS);
      server.close(() => {
        clearTimeout(cut);
        resolve();
      });
      // Whoever does not hang up, or does not take its answers, because it was suspended say, must not keep the folder owned.
      for (const socket of sockets) socket.destroySoon();
    });
}

/** How long the last answers may take to be read. */
const LAST_ANSWERS_MS = 1000;

/** Clocks are corrected by less all the time. */
const NOTED_JUMP_MS = 60_000;

const jumpText = (ms: number): string =>
  `The clock jumped by ${Math.round(ms / 1000)} seconds, or the machine slept: times told before and after do not compare. Durations are not affected.`;

const clockJumped = (ms: number): Fact => ({
  type: 'warned',
  failure: { where: 'store', message: jumpText(ms) },
});

/**
 * Opens everything, trains, tells the end, closes everything. Where a run that was under way meets what a person can mend, it closes
 * everything, waits paused, and goes on from its last checkpoint as after any other interruption.
 */
async function live(life: Life): Promise<Outcome> {
  const { control, tell } = life;
  for (;;) {
    let failure: Failure;
    try {
      const outcome = await openAndTrain(life);
      await closeAll(life.closers.splice(0));
      tell({ type: 'run-ended', outcome }, control.status.step);
      return outcome;
    } catch (error) {
      failure = failureOf(error);
    }
    await closeAll(life.closers.splice(0)).catch((error: unknown) => {
      // The files of a full disk cannot be closed in order either. Else the run's end is still the first failure's to tell.
      const unclosed: Fact = { type: 'warned', failure: failureOf(error) };
      if (!canBeMended(failure)) life.announce(life.journal.note(unclosed, control.status.step));
    });
    const waits = life.canWait && canBeMended(failure) && control.wasRunning && control.asked !== 'stop';
    if (waits && (await waitForMending(failure, life)) === 'go') continue;
    const outcome = waits ? 'stopped' : 'failed';
    const end: Fact = { type: 'run-ended', outcome, ...(!waits && { failure }) };
    life.announce(life.journal.note(end, control.status.step));
    return outcome;
  }
}
