/** Puts the sample project where the user wants it, its recorded run beside where new runs will be. Knows nothing of windows. */
import { constants, cp, copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface Sample {
  folder: string;
  config: string;
  /** Where its runs are. */
  runs: string;
  /** The run that can be explored before anything was trained. */
  recorded: string;
}

/** Folders of the shipped sample that are not copied as they are: its generators, and the recorded run. */
const NOT_COPIED = ['make', 'run'];
const RUNS = 'runs';
/** The recorded run's name: not one that a new run could get. */
const RECORDED = 'recorded';

/** Copies what is not there yet; a user's changed files are left as they are. Throws where the sample has no configuration. */
export async function copySample(from: string, to: string): Promise<Sample> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from))
    if (!NOT_COPIED.includes(entry)) await copyMissing(join(from, entry), join(to, entry));
  const recorded = join(to, RUNS, RECORDED);
  await copyMissing(join(from, 'run'), recorded);
  const config = (await readdir(to)).find(name => name.endsWith('.branchpoint.json'));
  if (config === undefined) throw new Error(`${from} has no run configuration.`);
  return { folder: to, config: join(to, config), runs: join(to, RUNS), recorded };
}

async function copyMissing(from: string, to: string): Promise<void> {
  if ((await stat(from)).isDirectory())
    return cp(from, to, { recursive: true, force: false, errorOnExist: false });
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
