/** What each tool's answers depend on, beside the argument. Knows nothing of caches or of how a tool works. */
import type { ToolsConfig } from '../../core/configTools.ts';
import { hashFile } from '../../run/checkpoint.ts';
import { hashOwnProgram } from '../../run/ownFiles.ts';
import type { Identities } from './cache.ts';
import type { Tool } from './tool.ts';

/** Paths of the config are absolute; the content of files counts, not their names. */
export async function identitiesOf(tools: readonly Tool[], config: ToolsConfig): Promise<Identities> {
  const named = tools.map(async ({ tag, description }): Promise<[string, string]> => [
    tag,
    JSON.stringify(await dependenciesOf(tag, description, config)),
  ]);
  return Object.fromEntries(await Promise.all(named));
}

async function dependenciesOf(tag: string, description: string, config: ToolsConfig): Promise<unknown> {
  const own = config.custom.find(tool => tool.tag === tag);
  if (own) return { own: await hashOwnProgram(own) };
  if (tag === 'python') {
    const { memoryMB } = config.python;
    return { description, memoryMB, timeoutSeconds: config.timeoutSeconds };
  }
  const { corpus, url, cacheFile, results, resultCharacters } = config.search;
  const hashOf = async (path: string): Promise<string> => (path === '' ? '' : hashFile(path));
  return { corpus: await hashOf(corpus), url, cacheFile: await hashOf(cacheFile), results, resultCharacters };
}
