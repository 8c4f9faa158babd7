/** The list of a run's trees while an editor shows it: all of them, or those that were looked for. Knows nothing of VS Code or of views. */
import { isEmpty, type TrajectoryQuery } from '../core/trajectorySearch.ts';
import type { TreeListing, TreeRow } from '../protocol/verbs.ts';
import type { TreeEntry } from '../run/offsets.ts';
import type { Run } from '../run/reader.ts';
import { searchTrees, type FoundTree } from '../run/search.ts';

/** Takes word of a list that changed; the next is told when it was taken. */
export type Told = (listing: TreeListing, isNew: boolean) => Promise<void>;

/** The least time between two words of the same list. */
const QUIET_MS = 100;

export class TreeList {
  readonly #run: Run;
  readonly #told: Told;
  readonly #closed = new AbortController();
  #entries: TreeEntry[] = [];
  /** Absent while nothing is looked for. */
  #found: FoundTree[] | undefined;
  #query: TrajectoryQuery = {};
  /** Entries that the search was given. */
  #looked = 0;
  #search = new AbortController();
  #share = 0;
  #problem: string | undefined;
  #isNew = true;
  #isTelling = false;
  #mustTell = false;

  constructor(run: Run, told: Told) {
    this.#run = run;
    this.#told = told;
  }

  /** Reads the list, or what was added to it; resolves when all of it is told. Throws a FailureError of the reader's. */
  async read(size: number): Promise<void> {
    const before = this.#entries.length;
    const isGrowth = before > 0;
    this.#entries = await this.#run.trees({
      signal: this.#closed.signal,
      told: (bytes, entries) => {
        if (isGrowth || this.#isTelling) return;
        this.#entries = entries();
        this.#share = size === 0 ? 1 : bytes / size;
        this.#tell();
      },
    });
    // A resumption may have voided the last ones: then nothing of the old list holds.
    if (this.#entries.length < before) return this.find(this.#query);
    this.#share = 1;
    const further = this.#entries.slice(this.#looked);
    this.#looked = this.#entries.length;
    if (this.#found !== undefined && further.length > 0) await this.#look(further, this.#search.signal);
    this.#tell();
  }

  /** Resolves when everything was looked through, or another search began. */
  async find(query: TrajectoryQuery): Promise<void> {
    this.#search.abort();
    this.#problem = undefined;
    this.#query = query;
    this.#isNew = true;
    this.#found = isEmpty(query) ? undefined : [];
    this.#share = this.#found === undefined ? 1 : 0;
    this.#tell();
    if (this.#found === undefined) return;
    this.#search = new AbortController();
    this.#looked = this.#entries.length;
    await this.#look(this.#entries, this.#search.signal);
  }

  stopFinding(): void {
    this.#search.abort();
    this.#share = 1;
    this.#tell();
  }

  /** Says why there is not more of the list. */
  fail(problem: string): void {
    this.#problem = problem;
    this.stopFinding();
  }

  async #look(entries: readonly TreeEntry[], signal: AbortSignal): Promise<void> {
    const end = entries.reduce((most, { offset, length }) => Math.max(most, offset + length), 1);
    for await (const { found, bytes } of searchTrees(this.#run.folder, entries, this.#query, signal)) {
      if (signal.aborted) return;
      for (const one of found) this.#found?.push(one);
      this.#share = Math.min(1, bytes / end);
      this.#tell();
    }
    if (signal.aborted) return;
    this.#share = 1;
    this.#tell();
  }

  rows(from: number, count: number): TreeRow[] {
    return this.#found === undefined
      ? this.#entries.slice(from, from + count).map(rowOf)
      : this.#found.slice(from, from + count).map(({ entry, matches }) => ({ ...rowOf(entry), matches }));
  }

  get listing(): TreeListing {
    const found = this.#found?.reduce(
      (sum, { entry, matches }) => sum + (matches.length === 0 ? entry.paths : matches.length),
      0,
    );
    return {
      rows: this.#found?.length ?? this.#entries.length,
      trees: this.#entries.length,
      ...(found !== undefined && { found }),
      share: this.#share,
      ...(this.#problem !== undefined && { problem: this.#problem }),
    };
  }

  /** One word at a time, never oftener than a reader could follow; what changes meanwhile is in the next. */
  #tell(): void {
    this.#mustTell = true;
    if (this.#isTelling || this.#closed.signal.aborted) return;
    this.#isTelling = true;
    const tellOn = async (): Promise<void> => {
      while (this.#mustTell && !this.#closed.signal.aborted) {
        this.#mustTell = false;
        const isNew = this.#isNew;
        this.#isNew = false;
        await this.#told(this.listing, isNew);
        await new Promise(resolve => setTimeout(resolve, QUIET_MS));
      }
    };
    // A view that is gone takes no word: its list is closed with it.
    tellOn().then(
      () => (this.#isTelling = false),
      () => this.close(),
    );
  }

  close(): void {
    this.#closed.abort();
    this.#search.abort();
  }
}

export const rowOf = ({ id, step, question, reward, paths, branches, refused }: TreeEntry): TreeRow => ({
  id,
  step,
  question,
  ...(reward !== undefined && { reward }),
  paths,
  ...(branches !== undefined && { branches }),
  ...(refused !== undefined && { refused }),
});
