/** Opens the tools that a run's config names. Knows nothing of how they work or of who calls them. */
import { resolve } from 'node:path';
import type { Config } from '../../core/config.ts';
import { openPool } from './pool.ts';
import { openPython } from './python.ts';
import { openSearch } from './search.ts';
import type { Tool, ToolPool } from './tool.ts';

/** ARPO has no limit; long outputs would fill the policy's context. */
const OUTPUT_BYTES = 8_192;

/**
 * A program's own limit is the config's timeout, enforced by its sandbox. The pool's limit is this much longer, so that
 * the first programs may wait for a sandbox that is still starting.
 */
const START_ALLOWANCE_MS = 30_000;

/** `baseFolder` is what the config's paths are relative to. Throws a FailureError that names the key and the fix. */
export async function openTools({ tools }: Pick<Config, 'tools'>, baseFolder: string): Promise<ToolPool> {
  const opened: Tool[] = [];
  try {
    if (tools.search.corpus !== '') {
      opened.push(await openSearch({ ...tools.search, corpus: resolve(baseFolder, tools.search.corpus) }));
    }
    if (tools.python.enabled) {
      const { sandbox, memoryMB } = tools.python;
      const limits = { timeoutMs: tools.timeoutSeconds * 1000, memoryMB, outputBytes: OUTPUT_BYTES };
      opened.push(await openPython({ sandbox, ...limits, concurrency: tools.concurrency }));
    }
  } catch (error) {
    await Promise.all(opened.map(tool => tool.close()));
    throw error;
  }
  const timeoutMs = tools.timeoutSeconds * 1000 + START_ALLOWANCE_MS;
  return openPool(opened, { timeoutMs, concurrency: tools.concurrency });
}
