/** Which processes of this machine live. Knows nothing of what they do. */
import * as fs from 'node:fs';
import { hostname } from 'node:os';
import { crc32 } from 'node:zlib';

/**
 * Eight digits that tell where ids of processes mean the same processes as here: on this machine and, of Linux, in this container, for
 * containers count their processes each from 1.
 */
export const HERE = crc32(`${hostname()} ${namespace()}`).toString(16).padStart(8, '0');

function namespace(): string {
  if (process.platform !== 'linux') return '';
  try {
    return fs.readlinkSync('/proc/self/ns/pid');
  } catch (error) {
    // A system without these files.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return '';
  }
}

/** Whether a process with this id lives here; where its birth is given and known, whether it is that one and not a later one. */
export function isRunning(pid: number, birth = ''): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Another user's process lives, and we may not be told when it started.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return birth === '' || birthOf(pid) === birth;
}

/** The boot that a process was born in. */
export const bootOf = (birth: string): string => birth.slice(0, Math.max(0, birth.indexOf(':')));

/** Boot and start time of a process as Linux counts it; '' on other systems, for a zombie, and where there is no such process. */
export function birthOf(pid: number): string {
  if (process.platform !== 'linux') return '';
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets and may hold spaces; state is the third field, start the 22nd.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z') return '';
    return `${fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19]}`;
  } catch (error) {
    // Gone, or a system without these files.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return '';
  }
}
