/** Processes that tests started, found by the temporary folder that they were given. Knows nothing of what they do. */
import { readdirSync, readFileSync } from 'node:fs';

/** Other processes whose temporary folder is this one or in it; none where the system does not show environments. */
export function processesOf(home) {
  if (process.platform !== 'linux') return [];
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.flatMap(pid => {
    try {
      const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 600);
      return variables.some(one => one.startsWith(`TMPDIR=${home}`)) ? [{ pid: Number(pid), line }] : [];
    } catch {
      // Gone meanwhile, or another user's.
      return [];
    }
  });
}

/** Ends one that may have ended meanwhile. */
export function end({ pid }) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
