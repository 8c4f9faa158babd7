/**
 * The folder that a fine-tuning writes its policy to: whoever reads it, and whenever its writer is killed, it holds one save and never
 * parts of two. Knows nothing of demonstrations or of how the policy learns.
 */
import * as fs from 'node:fs';
import { basename, join } from 'node:path';
import { FailureError } from '../core/types.ts';
import {
  besideName,
  copy,
  makeFolder,
  remove,
  removeInterrupted,
  rename,
  statOf,
  syncFolder,
  writeAtomically,
} from '../run/disk.ts';
import { FILES } from '../run/layout.ts';
import { count, record } from '../run/shape.ts';
import type { RunTokenizer } from './equipment.ts';
import type { Policy } from './policy/policy.ts';
import type { SftState } from './sft.ts';

const STATE = 'sft.json';
/** A whole save on its way to its place: with this name it counts as saved. */
const SAVED = '.saved';
/** What others look for; it comes last, so that a policy that can be opened has all that belongs to it. */
const LAST = 'model.safetensors';

/** What a save would write over, or beside what it is no part of. */
const FOREIGN = [LAST, 'config.json', 'tokenizer.json', FILES.manifest];

/**
 * Makes the folder ready and says how far an earlier fine-tuning in it has come; undefined where there was none. Throws a FailureError
 * where it holds a policy or a run that no fine-tuning made: nothing else may be lost.
 */
export function openTuned(folder: string): SftState | undefined {
  makeFolder(folder);
  removeInterrupted(folder);
  putInPlace(folder);
  const path = join(folder, STATE);
  if (!statOf(path)) {
    refuseForeign(folder);
    return undefined;
  }
  try {
    return stateShape(JSON.parse(fs.readFileSync(path, 'utf8')), path);
  } catch (error) {
    throw new FailureError({
      where: 'store',
      message: `${path} does not say how far the fine-tuning has come: ${(error as Error).message}`,
      fix: 'Name another folder with --out.',
    });
  }
}

function refuseForeign(folder: string): void {
  const found = FOREIGN.find(name => statOf(join(folder, name)));
  if (found === undefined) return;
  throw new FailureError({
    where: 'config',
    message: `${folder} holds a ${found} that no fine-tuning has written, and it would be lost.`,
    fix: 'Name another folder with --out.',
  });
}

const stateShape = record<SftState>({ updates: count, tokens: count, rows: count });

/**
 * Writes everything beside, which then counts by one rename, and puts it in place. Weights are the only file of a save that other
 * programs read and that differs from the save before, so that to them one rename is the whole change. Throws what a write throws; a save
 * that did not count leaves nothing behind.
 */
export async function saveTuned(
  folder: string,
  {
    policy,
    tokenizer,
    state,
  }: { policy: Pick<Policy, 'save'>; tokenizer: Pick<RunTokenizer, 'files'>; state: SftState },
): Promise<void> {
  const beside = besideName(join(folder, '.saving'), 'tmp');
  remove(beside);
  makeFolder(beside);
  try {
    await policy.save(beside, true);
    for (const file of tokenizer.files) await copy(file, join(beside, basename(file)));
    writeAtomically(join(beside, STATE), `${JSON.stringify(state)}\n`);
    await syncFolder(beside);
    rename(beside, join(folder, SAVED));
  } catch (error) {
    remove(beside);
    throw error;
  }
  putInPlace(folder);
}

/** Does the rest of a save that counts, also of one whose writer was killed meanwhile. */
function putInPlace(folder: string): void {
  const saved = join(folder, SAVED);
  if (!statOf(saved)) return;
  const names = fs.readdirSync(saved).filter(name => name !== LAST);
  for (const name of [...names, LAST])
    if (statOf(join(saved, name))) rename(join(saved, name), join(folder, name));
  remove(saved);
}
