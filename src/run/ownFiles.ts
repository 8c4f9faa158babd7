/** Hashes the files that a program of the user's own is made of, as far as its config names them. Knows nothing of what it does. */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { resolve } from 'node:path';
import type { OwnProgram } from '../core/configTools.ts';
import { hashFile } from './checkpoint.ts';

/** Files named by a program: its module, or those words of its command that are files in its folder. */
export function ownFiles({ module, command, folder }: OwnProgram): string[] {
  if (module !== '') return [module];
  const isFile = (path: string): boolean => fs.statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  return command.map(word => resolve(folder, word)).filter(isFile);
}

/** SHA-256 over the words of the command and the content of the files; changes when either does. */
export async function hashOwnProgram(program: OwnProgram): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(program.command));
  for (const file of ownFiles(program)) hash.update(await hashFile(file));
  return hash.digest('hex');
}
