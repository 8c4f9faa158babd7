/** Makes a new run folder with all that says what it was started from. Knows nothing of training. */
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Config } from '../core/config.ts';
import type { OwnProgram } from '../core/configTools.ts';
import { FORMAT } from '../core/events.ts';
import type { Pieces } from '../core/pieces.ts';
import { encodePieces } from '../core/pieces.ts';
import { FailureError } from '../core/types.ts';
import { hashFile, hashFolder, hashOf } from './checkpoint.ts';
import { timestamp } from './clock.ts';
import { makeFolder, makeNewFolder, writeAtomically } from './disk.ts';
import { FILES } from './layout.ts';
import type { Manifest } from './manifest.ts';
import { manifestText } from './manifest.ts';
import { hashOwnProgram } from './ownFiles.ts';

export interface NewRun {
  /** With absolute paths. */
  config: Config;
  /** The config file and its text as the user wrote it. */
  file: string;
  text: string;
  /** By name: `branchpoint`, `node`, `onnxruntime` … */
  versions: Record<string, string>;
  /** The policy's vocabulary; whoever has none yet writes it later with `writePieces`. */
  pieces?: Pieces;
}

/** Makes `<runs>/<name>-<n>` with the smallest n above all there are. Throws a FailureError where it cannot be made. */
export async function createRun(run: NewRun): Promise<{ folder: string; manifest: Manifest }> {
  const { config } = run;
  const [hashes, git] = await Promise.all([hashesOf(config), gitOf(dirname(run.file))]);
  try {
    const { folder, name } = newFolder(config);
    const manifest: Manifest = {
      format: { ...FORMAT },
      name,
      created: timestamp(),
      config,
      hashes,
      configFile: run.file,
      versions: run.versions,
      ...(git && { git: { commit: git.commit, isDirty: git.isDirty } }),
    };
    writeAtomically(join(folder, FILES.config), run.text);
    if (git?.changes !== undefined) writeAtomically(join(folder, FILES.changes), git.changes);
    if (run.pieces) writePieces(folder, run.pieces);
    // Last, because a folder with a manifest is a run.
    writeAtomically(join(folder, FILES.manifest), manifestText(manifest, folder));
    return { folder, manifest };
  } catch (error) {
    const message = `No run folder can be made in ${config.runs}: ${(error as Error).message}`;
    throw new FailureError({
      where: 'store',
      message,
      fix: 'Name a folder in `runs` that you may write to.',
    });
  }
}

/** The bytes of the vocabulary, so that readers need no tokenizer. */
export const writePieces = (runFolder: string, pieces: Pieces): void =>
  writeAtomically(join(runFolder, FILES.pieces), encodePieces(pieces));

function newFolder({ runs, name }: Config): { folder: string; name: string } {
  makeFolder(runs);
  for (;;) {
    const numbers = fs
      .readdirSync(runs)
      .filter(entry => entry.startsWith(`${name}-`) && /^\d+$/.test(entry.slice(name.length + 1)))
      .map(entry => Number(entry.slice(name.length + 1)));
    const next = `${name}-${Math.max(0, ...numbers) + 1}`;
    try {
      makeNewFolder(join(runs, next));
      return { folder: join(runs, next), name: next };
    } catch (error) {
      // Another start took the number between the two calls: look again.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Throws where a file that the run was started from is gone, or is not the same any more: going on would mix two runs. */
export async function refuseChanged({ config, hashes }: Manifest): Promise<void> {
  const found = await hashesOf(config);
  for (const [name, hash] of Object.entries(hashes)) {
    if (found[name] === hash) continue;
    throw new FailureError({
      where: 'config',
      message: `${nameOfInput(config, name)} is not what the run was started with: its hash differs.`,
      fix: 'Put it back as it was, then resume the run; or start a new run.',
    });
  }
}

/** The file with what it is for, or the key of a program of the user's own with its words. */
function nameOfInput(config: Config, name: string): string {
  const path = namedPaths(config)[name];
  if (path !== undefined) return `${path} (${name})`;
  const own = ownPrograms(config).find(([known]) => known === name)?.[1];
  if (own === undefined) return name;
  const key = name === 'reward' ? 'reward.custom' : `the tool ${name.slice('tool:'.length)} of tools.custom`;
  return `${own.module === '' ? own.command.join(' ') : own.module} (${key})`;
}

const namedPaths = ({ data, tools, policy }: Config): Record<string, string> => ({
  train: data.train,
  heldOut: data.heldOut,
  corpus: tools.search.corpus,
  searchCache: tools.search.cacheFile,
  policy: policy.path,
});

/** Whether one of the named files or folders is as it was when the run began. Throws a FailureError where it cannot be read. */
export async function isInputUnchanged(
  { config, hashes }: Manifest,
  name: 'corpus' | 'searchCache' | 'policy',
): Promise<boolean> {
  const path = namedPaths(config)[name];
  return path === undefined || path === '' || (await hashOfInput(path)) === hashes[name];
}

/** SHA-256 of all that a config names, by what it is for. Throws a FailureError where one of them cannot be read. */
export async function hashesOf(config: Config): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const [name, path] of Object.entries(namedPaths(config)))
    if (path !== '') hashes[name] = await hashOfInput(path);
  for (const [name, program] of ownPrograms(config))
    hashes[name] = await readable(program.module, () => hashOwnProgram(program));
  return hashes;
}

const hashOfInput = (path: string): Promise<string> =>
  readable(path, async () =>
    fs.statSync(path).isDirectory() ? hashOf(withoutNotes(await hashFolder(path))) : hashFile(path),
  );

/** A policy is the same whatever is written about it: a folder's Markdown is left out. */
const withoutNotes = (files: Awaited<ReturnType<typeof hashFolder>>): typeof files =>
  Object.fromEntries(Object.entries(files).filter(([name]) => !name.endsWith('.md')));

/** Programs of the user's own, by what they are for. */
function ownPrograms({ tools: { custom }, reward }: Config): [string, OwnProgram][] {
  const tools = custom.map((own): [string, OwnProgram] => [`tool:${own.tag}`, own]);
  const { module, command } = reward.custom;
  return module === '' && command.length === 0 ? tools : [['reward', reward.custom], ...tools];
}

async function readable(path: string, hash: () => Promise<string>): Promise<string> {
  try {
    return await hash();
  } catch (error) {
    throw new FailureError({
      where: 'config',
      message: `${path} cannot be read: ${(error as Error).message}`,
      fix: 'Correct the path in the config file.',
    });
  }
}

/** Changes that are longer are not kept: a repository of data is no part of a run. */
const LONGEST_CHANGES = 1 << 24;

/**
 * Commit and state of the repository around the folder, and how its tracked files differ; undefined outside of one or where there
 * is no git.
 */
async function gitOf(
  folder: string,
): Promise<(NonNullable<Manifest['git']> & { changes?: string }) | undefined> {
  const git = async (...args: string[]): Promise<string | undefined> => {
    try {
      const { stdout } = await promisify(execFile)('git', ['-C', folder, ...args], {
        timeout: 5000,
        maxBuffer: LONGEST_CHANGES,
      });
      return stdout;
    } catch {
      // No git, no repository, no commit yet, no answer in time or too long a one: all mean that the run does not know.
      return undefined;
    }
  };
  const commit = (await git('rev-parse', 'HEAD'))?.trim();
  if (commit === undefined || commit === '') return undefined;
  const status = await git('status', '--porcelain');
  const isDirty = status === undefined || status.trim() !== '';
  const changes = isDirty ? await git('diff', 'HEAD', '--no-color', '--no-ext-diff') : undefined;
  return { commit, isDirty, ...(changes !== undefined && changes !== '' && { changes }) };
}
