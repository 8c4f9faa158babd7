/**
 * Results of tool calls that runs share, in one SQLite file that several processes may write at the same time. Only results
 * that are right are kept: errors may be gone the next time. Knows nothing of what the tools are.
 */
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FailureError, type Failure } from '../../core/types.ts';
import { elapsed, timestamp } from '../../run/clock.ts';
import { makeFolder } from '../../run/disk.ts';
import type { ToolPool } from './tool.ts';

/** By tag: all that a tool's answers depend on beside the argument. */
export type Identities = Readonly<Record<string, string>>;

export interface ResultCache {
  /** The text that a call was answered with; undefined where it is not known. */
  find(tag: string, argument: string): string | undefined;
  keep(tag: string, argument: string, text: string): void;
  close(): void;
}

const VERSION = 1;
/** How long a process waits for another one's write. */
const PATIENCE_MS = 10_000;

/** Throws a FailureError that names the key where the file cannot be opened or is something else. */
export function openCache(file: string, identities: Identities): ResultCache {
  const keys = new Map(Object.entries(identities).map(([tag, identity]) => [tag, keyOf(tag, identity)]));
  const keyFor = (tag: string): string => {
    const key = keys.get(tag);
    if (key === undefined) throw new Error(`The cache was opened without the tool ${tag}.`);
    return key;
  };
  const database = openDatabase(file);
  const select = database.prepare('select text from results where tool = ? and argument = ?');
  const insert = database.prepare(
    'insert or replace into results(tool, argument, text, tag, at) values (?, ?, ?, ?, ?)',
  );
  return {
    find(tag, argument) {
      return (select.get(keyFor(tag), argument) as { text: string } | undefined)?.text;
    },
    keep(tag, argument, text) {
      insert.run(keyFor(tag), argument, text, tag, timestamp());
    },
    close: () => database.close(),
  };
}

const keyOf = (tag: string, identity: string): string =>
  createHash('sha256').update(`${tag}\0${identity}`).digest('hex');

function openDatabase(file: string): DatabaseSync {
  const refusal = (why: string): FailureError =>
    new FailureError({
      where: 'config',
      message: `tools.cache: ${file} ${why}`,
      fix: 'Name a new file, or one that a cache of Branchpoint is in; or set tools.cache to "".',
    });
  let database: DatabaseSync | undefined;
  try {
    makeFolder(dirname(file));
    database = new DatabaseSync(file);
    database.exec(`pragma busy_timeout = ${PATIENCE_MS}`);
    const { user_version: version } = database.prepare('pragma user_version').get() as {
      user_version: number;
    };
    const { n: tables } = database.prepare('select count(*) as n from sqlite_schema').get() as { n: number };
    if (version > VERSION) throw refusal(`is a cache of version ${version}; this program knows ${VERSION}.`);
    if (version === 0 && tables > 0) throw refusal('is a database, but no cache.');
    // The write lock is taken first, because two processes that both read and then want to write would refuse each other.
    database.exec(`
      pragma journal_mode = wal;
      pragma synchronous = normal;
      begin immediate;
      create table if not exists results(
        tool text, argument text, text text not null, tag text not null, at text not null, primary key (tool, argument)
      ) without rowid;
      pragma user_version = ${VERSION};
      commit`);
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof FailureError ? error : refusal(`cannot be opened (${(error as Error).message}).`);
  }
}

/**
 * The pool with the cache in front of it. A cache that stops working (disk full, file gone) is warned of once, and calls are
 * executed as without it. Owns both.
 */
export function cachedPool(pool: ToolPool, cache: ResultCache, warn: (failure: Failure) => void): ToolPool {
  let isBroken = false;
  const attempt = <T>(work: () => T): T | undefined => {
    if (isBroken) return undefined;
    try {
      return work();
    } catch (error) {
      isBroken = true;
      const message = `The cache of tool results is no longer used: ${(error as Error).message}`;
      warn({ where: 'store', message, fix: 'Make room or free the file of tools.cache, then start again.' });
      return undefined;
    }
  };
  return {
    ...pool,
    async call(tag, argument) {
      if (!pool.tags.includes(tag)) return pool.call(tag, argument);
      const startedAt = elapsed();
      const text = attempt(() => cache.find(tag, argument));
      if (text !== undefined) return { outcome: 'ok', text, latencyMs: elapsed() - startedAt, shared: true };
      const result = await pool.call(tag, argument);
      if (result.outcome === 'ok' && !result.shared) attempt(() => cache.keep(tag, argument, result.text));
      return result;
    },
    async close() {
      await pool.close();
      cache.close();
    },
  };
}
