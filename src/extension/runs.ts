/** The runs that this window knows: found in folders, summarised from the ends of their journals, live ones followed. Knows nothing of views or workers. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { Event } from '../core/events.ts';
import type { RunOutline, RunState } from '../core/fold.ts';
import { emptyState, fold, foldInto } from '../core/fold.ts';
import { TREND_STEPS } from '../core/trend.ts';
import { stampOfImport } from '../run/imports/imported.ts';
import { FILES } from '../run/layout.ts';
import { liveLock } from '../run/lock.ts';
import { openRun } from '../run/reader.ts';
import type { Glance, RunSummary } from '../run/runs.ts';
import { glanceAt, glanceAtAll, isSignOfLife, stampOfFacts } from '../run/runs.ts';
import type { Log } from './failures.ts';
import { inBackground } from './failures.ts';
import { callsUnderWay } from './rows.ts';

/** Rows are drawn again at most as often while a run is live. */
const QUIET_MS = 300;
/** A long look through many folders shows what it has after this time, and then whenever that has doubled. */
const FIRST_SHOW_MS = 100;
/** How often it is asked whether a live run's worker still lives: one that was killed says nothing. */
const LIFE_MS = 2000;
/** States of ended runs that are kept. */
const KEPT_STATES = 50;

interface Followed {
  state: RunState;
  stop: AbortController;
}

/** Takes the facts of a run: all so far first, and again where the journal was replaced. */
export interface Taker {
  facts(events: readonly Event[]): void;
  restarted(events: readonly Event[]): void;
}

/** Where runs are looked for. */
interface RunPlaces {
  /** Folders that hold run folders. */
  runsFolders(): Promise<string[]>;
  /** Folders of other programs’ rollouts. */
  imports(): readonly string[];
}

export class Runs implements vscode.Disposable {
  readonly #places: RunPlaces;
  readonly #log: Log;
  readonly #known = new Map<string, Glance>();
  readonly #followed = new Map<string, Followed>();
  readonly #states = new Map<string, { stamp: string; state: Promise<RunOutline> }>();
  readonly #changed = new vscode.EventEmitter<string | undefined>();
  readonly #watched = new Map<string, vscode.Disposable>();
  #timers: Partial<Record<'change' | 'refresh', NodeJS.Timeout>> = {};
  readonly #pulse: NodeJS.Timeout;
  #refreshing: Promise<void> | undefined;
  #isWanted = false;
  readonly #old = new Set<string>();

  /** A run folder whose row is old, or undefined where the list is. */
  readonly onDidChange = this.#changed.event;

  /** Nothing is read before the first refresh. */
  constructor(places: RunPlaces, log: Log) {
    this.#places = places;
    this.#log = log;
    this.#pulse = setInterval(() => this.#checkLives(), LIFE_MS);
    this.#pulse.unref();
  }

  /** Newest first. */
  list(): RunSummary[] {
    const all = [...this.#known.keys()].map(folder => this.get(folder)!);
    return all.sort(newestFirst);
  }

  live(): RunSummary[] {
    const live = [...this.#followed.keys()].flatMap(folder => this.get(folder) ?? []);
    return live.filter(({ status }) => status === 'live').sort(newestFirst);
  }

  /** The summary, with the live numbers where the run is followed. */
  get(folder: string): RunSummary | undefined {
    const summary = this.#known.get(folder)?.summary;
    const state = this.#followed.get(folder)?.state;
    if (summary === undefined || state === undefined || state.last === undefined) return summary;
    const last = state.summaries.at(-1);
    return {
      ...summary,
      isPaused: state.status === 'paused',
      step: last?.step ?? 0,
      steps: state.steps,
      ...(state.live !== undefined && { waiting: callsUnderWay(state.live.trees) }),
      ...(last !== undefined && {
        reward: last.summary.reward.mean,
        entropy: last.summary.entropy.all,
        recent: state.summaries.slice(-TREND_STEPS).map(({ summary }) => summary.reward.mean),
      }),
    };
  }

  /** The step that a live run is in; undefined between steps. */
  liveStep(folder: string): RunState['live'] {
    return this.#followed.get(folder)?.state.live;
  }

  /** The state that the facts of whole steps so far fold to: of a live run always the newest, of an ended one read on demand. */
  async state(folder: string): Promise<RunOutline> {
    const followed = this.#followed.get(folder);
    if (followed?.state.last !== undefined) return followed.state;
    const stamp = (await stampOfFacts(folder)) ?? '';
    const kept = this.#states.get(folder);
    if (kept?.stamp === stamp) return kept.state;
    const state = openRun(folder).events({ headlines: true }).then(fold);
    this.#states.set(folder, { stamp, state });
    for (const oldest of this.#states.keys())
      if (this.#states.size > KEPT_STATES) this.#states.delete(oldest);
    return state;
  }

  /** `headlines`: how trees grew in steps that are finished is not asked for, which makes a long run quick to read. */
  follow(folder: string, taker: Taker, headlines = false): vscode.Disposable {
    const stop = new AbortController();
    inBackground(
      this.#log,
      `Reading ${folder}`,
      this.#give(folder, taker, { signal: stop.signal, headlines }),
    );
    return new vscode.Disposable(() => stop.abort());
  }

  /** Looks through all folders again. One that runs already is followed by another, for it may have passed what changed. */
  refresh(): Promise<void> {
    this.#isWanted = true;
    this.#refreshing ??= this.#findWhileWanted().finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  /** Takes a run folder in that was just made, without looking through all others. */
  async add(folder: string): Promise<RunSummary> {
    const glance = await glanceAt(folder, this.#known.get(folder));
    if (glance !== undefined) this.#take(folder, glance);
    this.#changed.fire(undefined);
    const summary = this.get(folder);
    if (summary === undefined) throw new Error(`${folder} is not a run folder.`);
    return summary;
  }

  async #findWhileWanted(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      await this.#findAll();
    }
  }

  async #findAll(): Promise<void> {
    const began = performance.now();
    let show = FIRST_SHOW_MS;
    const sources = [...new Set(await this.#places.runsFolders())];
    const inside = (await Promise.all(sources.map(foldersIn))).flat();
    // A folder of rollouts may be named itself; one of our own runs stands in the folder that is named.
    const folders = [...new Set([...inside, ...this.#places.imports(), ...sources])];
    const found = new Set<string>();
    await glanceAtAll(folders, this.#known, (folder, glance) => {
      if (glance === undefined) return;
      found.add(folder);
      this.#take(folder, glance);
      if (performance.now() - began < show) return;
      this.#changed.fire(undefined);
      show = 2 * (performance.now() - began);
    });
    for (const folder of this.#known.keys()) if (!found.has(folder)) this.#forget(folder);
    this.#watch(sources);
    this.#changed.fire(undefined);
  }

  #take(folder: string, glance: Glance): void {
    this.#known.set(folder, glance);
    const isLive = glance.summary.status === 'live';
    // Imported rollouts may be large: they are read when somebody looks at them.
    if (isLive && glance.summary.source === undefined && !this.#followed.has(folder))
      this.#followLive(folder);
    if (!isLive) this.#unfollow(folder);
  }

  #followLive(folder: string): void {
    const followed: Followed = { state: emptyState(), stop: new AbortController() };
    this.#followed.set(folder, followed);
    const take = (events: readonly Event[]): void => {
      foldInto(followed.state, events);
      this.#changeSoon(folder);
      if (events.some(({ type }) => type === 'run-ended')) this.#refreshSoon();
    };
    const restarted = (events: readonly Event[]): void => {
      followed.state = emptyState();
      take(events);
    };
    inBackground(
      this.#log,
      `Following ${folder}`,
      this.#give(folder, { facts: take, restarted }, { signal: followed.stop.signal, headlines: true }),
    );
  }

  async #give(
    folder: string,
    taker: Taker,
    { signal, headlines }: { signal: AbortSignal; headlines: boolean },
  ): Promise<void> {
    let isFirst = true;
    for await (const { events, from } of openRun(folder).follow(0, signal, { headlines })) {
      if (signal.aborted) return;
      if (from === 0 && !isFirst) taker.restarted(events);
      else taker.facts(events);
      isFirst = false;
    }
  }

  /** A worker that was killed leaves its lock behind: the run is then interrupted, and nothing on disk changes. */
  #checkLives(): void {
    for (const folder of this.#followed.keys()) {
      if (liveLock(folder) !== undefined) continue;
      const known = this.#known.get(folder);
      if (known !== undefined) known.stamp = '';
      this.#refreshSoon();
    }
    for (const [folder, { stamp, summary }] of this.#known)
      if (summary.source !== undefined && summary.status === 'live' && stampOfImport(folder) !== stamp) {
        this.#changeSoon(folder);
        this.#refreshSoon();
      }
  }

  #watch(sources: readonly string[]): void {
    for (const [source, watcher] of this.#watched)
      if (!sources.includes(source)) {
        watcher.dispose();
        this.#watched.delete(source);
      }
    for (const source of sources) {
      if (this.#watched.has(source)) continue;
      // A folder that is made later is seen from here too: the pattern's base need not exist yet.
      const watcher = vscode.workspace.createFileSystemWatcher(
        new vscode.RelativePattern(
          vscode.Uri.file(source),
          `*/{${FILES.manifest},${FILES.lock},${FILES.label},[0-9]*.jsonl,rollouts}`,
        ),
      );
      const changed = (): void => this.#refreshSoon();
      this.#watched.set(
        source,
        vscode.Disposable.from(
          watcher,
          watcher.onDidCreate(changed),
          watcher.onDidChange(({ fsPath }) => {
            if (!isSignOfLife(fsPath, folder => this.#followed.has(folder))) changed();
          }),
          watcher.onDidDelete(changed),
        ),
      );
    }
  }

  #changeSoon(folder: string): void {
    this.#old.add(folder);
    this.#timers.change ??= setTimeout(() => {
      delete this.#timers.change;
      for (const old of this.#old) this.#changed.fire(old);
      this.#old.clear();
    }, QUIET_MS);
  }

  #refreshSoon(): void {
    this.#timers.refresh ??= setTimeout(() => {
      delete this.#timers.refresh;
      inBackground(this.#log, 'Looking for runs', this.refresh());
    }, QUIET_MS);
  }

  #unfollow(folder: string): void {
    this.#followed.get(folder)?.stop.abort();
    this.#followed.delete(folder);
  }

  #forget(folder: string): void {
    this.#unfollow(folder);
    this.#known.delete(folder);
    this.#states.delete(folder);
  }

  dispose(): void {
    clearInterval(this.#pulse);
    for (const timer of Object.values(this.#timers)) clearTimeout(timer);
    for (const folder of [...this.#followed.keys()]) this.#unfollow(folder);
    vscode.Disposable.from(...this.#watched.values(), this.#changed).dispose();
  }
}

const NAMES = new Intl.Collator('en', { numeric: true });

/** By when they began, written so that texts compare as times do; then by name. */
const newestFirst = (a: RunSummary, b: RunSummary): number =>
  a.created === b.created ? NAMES.compare(b.name, a.name) : a.created < b.created ? 1 : -1;

/** The folders in a folder, later numbers first, so that new runs are seen first; none where it is not there. */
async function foldersIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const names = entries.filter(entry => entry.isDirectory()).map(({ name }) => name);
    return names.sort((a, b) => NAMES.compare(b, a)).map(name => join(folder, name));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
