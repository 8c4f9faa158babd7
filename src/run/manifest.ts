/** run.json: what a run was started from. Written once; knows nothing of what happened since. */
import * as fs from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Config } from '../core/config.ts';
import { problemText, validate } from '../core/config.ts';
import { keyNames, keyOf, type AnyKey } from '../core/configKeys.ts';
import { FORMAT } from '../core/events.ts';
import { FailureError } from '../core/types.ts';
import { statOf } from './disk.ts';
import { FILES } from './layout.ts';
import type { Shape } from './shape.ts';
import { count, optional, record, table, text, yes } from './shape.ts';

export interface Manifest {
  format: { major: number; minor: number };
  /** The run folder's name. */
  name: string;
  /** ISO 8601. */
  created: string;
  /** As resolved, every key present; its paths are absolute in memory and relative to the run folder on disk. */
  config: Config;
  /**
   * SHA-256 by `train`, `heldOut`, `policy`, `corpus`, `searchCache`, `reward`, and `tool:<tag>` for tools of the user's own;
   * absent where the config names none.
   */
  hashes: Record<string, string>;
  /** The file that `config` was read from; on disk relative to the run folder. Absent in runs of earlier versions. */
  configFile?: string;
  /** Of this program and what it computes with. */
  versions: Record<string, string>;
  /** Commit of the repository that the config file is in, and whether its files differed from it; absent outside of one. */
  git?: { commit: string; isDirty: boolean };
}

type Stored = Omit<Manifest, 'config'> & { config: unknown };
const stored: Shape<Stored> = record<Stored>({
  format: record<Manifest['format']>({ major: count, minor: count }),
  name: text,
  created: text,
  config: value => value,
  hashes: table(text),
  configFile: optional(text),
  versions: table(text),
  git: optional(record<NonNullable<Manifest['git']>>({ commit: text, isDirty: yes })),
});

/**
 * The manifest of a run folder, paths resolved. Throws a FailureError where the folder is no run, its manifest is broken,
 * or a newer version wrote it.
 */
export function readManifest(runFolder: string): Manifest {
  const path = join(runFolder, FILES.manifest);
  let written: string;
  try {
    written = fs.readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw broken(
        statOf(runFolder)
          ? `${runFolder} is not a run folder: it has no ${FILES.manifest}.`
          : `There is no folder ${runFolder}.`,
        'Name a folder that a run was started in.',
      );
    throw broken(`${path} cannot be read: ${(error as Error).message}`);
  }
  const manifest = stored(parsed(written, path), path);
  const checked = validate(manifest.config);
  if ('problems' in checked) {
    const [problem] = checked.problems;
    // A run holds its resolved configuration, so that a key that is not known is one of a newer version.
    const isUnknown = problem?.code === 'unknown-key';
    const fix = isUnknown
      ? 'Update Branchpoint, or remove the key where it was added by hand.'
      : problem?.fix;
    throw broken(`${path}: config.${problemText(problem!)}`, fix);
  }
  return {
    ...manifest,
    ...(manifest.configFile !== undefined && { configFile: resolve(runFolder, manifest.configFile) }),
    config: mapPaths(checked.config, value => resolve(runFolder, value)),
  };
}

function parsed(written: string, path: string): unknown {
  let json: unknown;
  try {
    json = JSON.parse(written);
  } catch (error) {
    throw broken(
      `${path} cannot be read: ${(error as Error).message}`,
      `Restore the file from a copy; ${FILES.config} beside it says what the run was started with.`,
    );
  }
  refuseNewer(json, path);
  return json;
}

/** Whether the run recorded how the repository differed from the commit that it was started at. */
export const hasGitDiff = (runFolder: string): boolean => fs.existsSync(join(runFolder, FILES.changes));

/** What a list of runs needs of a manifest. */
export interface ManifestHead {
  format: Manifest['format'];
  created: string;
  config: { name: string; steps: number };
}

const head: Shape<ManifestHead> = record<ManifestHead>({
  format: record<Manifest['format']>({ major: count, minor: count }),
  created: text,
  config: record<ManifestHead['config']>({ name: text, steps: count }),
});

/** The head of a manifest from its text; the rest is not looked at, for a thousand are read while somebody waits. */
export const manifestHead = (written: string, path: string): ManifestHead =>
  head(parsed(written, path), path);

const broken = (message: string, fix?: string): FailureError =>
  new FailureError({ where: 'store', message, ...(fix !== undefined && { fix }) });

/** The manifest's text: paths are relative to the run folder, so that a project can be moved as a whole. */
export function manifestText(manifest: Manifest, runFolder: string): string {
  const { configFile } = manifest;
  const stored = {
    ...manifest,
    config: mapPaths(manifest.config, path => pathFrom(runFolder, path)),
    ...(configFile !== undefined && { configFile: pathFrom(runFolder, configFile) }),
  };
  return `${JSON.stringify(stored, null, 2)}\n`;
}

/** A path as a folder's files name it; with slashes on every system, absolute only where another drive holds it. */
export function pathFrom(folder: string, path: string): string {
  const found = relative(folder, resolve(path));
  return isAbsolute(found) ? found : found.split(sep).join('/') || '.';
}

/** Throws where the value says that a newer major version wrote it; a newer minor is readable. */
export function refuseNewer(value: unknown, place: string): void {
  const major = (value as { format?: { major?: unknown } } | null)?.format?.major;
  if (typeof major !== 'number' || major <= FORMAT.major) return;
  throw new FailureError({
    where: 'store',
    message: `${place} has format ${major}; this version of Branchpoint reads formats up to ${FORMAT.major}.`,
    fix: 'Update Branchpoint to open this run.',
  });
}

/** The config with every path that is not empty replaced. */
export function mapPaths(config: Config, change: (path: string) => string): Config {
  const copy = structuredClone(config);
  for (const key of keyNames) {
    const spec = keyOf(key);
    if (!holdsPaths(spec)) continue;
    const steps = key.split('.');
    const last = steps.pop()!;
    // The table's keys are complete over Config, so every step but the last is an object and the last a text.
    const holder = steps.reduce(
      (at, step) => at[step] as Record<string, unknown>,
      copy as unknown as Record<string, unknown>,
    );
    if (spec.kind === 'list') changeItems(holder[last] as Record<string, string>[], spec, change);
    else if (holder[last] !== '') holder[last] = change(holder[last] as string);
  }
  return copy;
}

const holdsPaths = (spec: AnyKey): boolean =>
  spec.kind === 'list'
    ? Object.values(spec.items).some(holdsPaths)
    : spec.kind === 'text' && spec.isPath === true;

function changeItems(
  items: Record<string, string>[],
  spec: Extract<AnyKey, { kind: 'list' }>,
  change: (path: string) => string,
): void {
  for (const item of items)
    for (const [name, itemSpec] of Object.entries(spec.items))
      if (holdsPaths(itemSpec) && item[name] !== '') item[name] = change(item[name]!);
}
