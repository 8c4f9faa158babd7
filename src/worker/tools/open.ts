/** Opens the tools that a run's config names, with retries, cache and recording. Knows nothing of how they work or of who calls them. */
import { resolve } from 'node:path';
import type { Config } from '../../core/config.ts';
import type { ToolsConfig } from '../../core/configTools.ts';
import { streamKey } from '../../core/random.ts';
import type { Failure } from '../../core/types.ts';
import { openOwnTool } from '../own/tool.ts';
import { retrying } from '../retry.ts';
import { openAnswerFile } from './answerFile.ts';
import { cachedPool, openCache } from './cache.ts';
import { openCassette } from './cassette.ts';
import { identitiesOf } from './identity.ts';
import { openPool } from './pool.ts';
import { openPython } from './python.ts';
import { openRetriever } from './retriever.ts';
import { openSearch } from './search.ts';
import type { Tool, ToolPool } from './tool.ts';

/** ARPO has no limit; long outputs would fill the policy's context. */
const OUTPUT_BYTES = 8_192;

type Warn = (failure: Failure) => void;

/**
 * `baseFolder` is what the config's paths are relative to; `warn` is told of what goes wrong beside single calls. Throws a
 * FailureError that names the key and the fix.
 */
export async function openTools(
  { tools, seed }: Pick<Config, 'tools' | 'seed'>,
  baseFolder: string,
  warn: Warn = ({ message }) => process.emitWarning(message),
): Promise<ToolPool> {
  const config = withAbsolutePaths(tools, baseFolder);
  const openPool = (): Promise<ToolPool> => openLive(config, seed, warn);
  const { mode, file } = config.cassette;
  return mode === 'off' ? openPool() : openCassette({ mode, file, openPool, warn });
}

/** The tools themselves, behind the cache where there is one. */
async function openLive(config: ToolsConfig, seed: number, warn: Warn): Promise<ToolPool> {
  const timeoutMs = config.timeoutSeconds * 1000;
  const opened: Tool[] = [];
  const add = async (tool: Promise<Tool> | undefined): Promise<void> =>
    void (tool && opened.push(await tool));
  try {
    await add(openSearchTool(config, timeoutMs));
    if (config.python.enabled) await add(openPythonTool(config, timeoutMs));
    for (const own of config.custom) await add(openOwnTool(own, timeoutMs));
    const cache =
      config.cache === '' ? undefined : openCache(config.cache, await identitiesOf(opened, config));
    const patient = opened.map(tool => persistent(tool, config.retries, seed));
    const pool = openPool(patient, { timeoutMs, concurrency: config.concurrency });
    return cache ? cachedPool(pool, cache, warn) : pool;
  } catch (error) {
    await Promise.all(opened.map(tool => tool.close()));
    throw error;
  }
}

function openPythonTool({ python, concurrency }: ToolsConfig, timeoutMs: number): Promise<Tool> {
  const { sandbox, memoryMB } = python;
  return openPython({ sandbox, timeoutMs, memoryMB, outputBytes: OUTPUT_BYTES, concurrency });
}

/** Kept answers first, then documents or a retriever. */
function openSearchTool({ search, retries }: ToolsConfig, timeoutMs: number): Promise<Tool> | undefined {
  const openNext = (): Promise<Tool> | undefined => {
    if (search.corpus !== '') return openSearch(search);
    return search.url === '' ? undefined : openRetriever({ ...search, timeoutMs, retries });
  };
  if (search.cacheFile === '') return openNext();
  return Promise.resolve(openNext()).then(next => openAnswerFile(search, next));
}

/** The tool, with calls that failed for a passing reason tried again. */
const persistent = (tool: Tool, retries: number, seed: number): Tool => ({
  ...tool,
  run: (argument, signal) =>
    retrying(() => tool.run(argument, signal), {
      retries,
      key: streamKey(seed, 'retry', tool.tag, argument),
      signal,
    }),
});

function withAbsolutePaths(tools: ToolsConfig, baseFolder: string): ToolsConfig {
  const absolute = (path: string): string => (path === '' ? '' : resolve(baseFolder, path));
  const { search, cassette } = tools;
  return {
    ...tools,
    cache: absolute(tools.cache),
    cassette: { ...cassette, file: absolute(cassette.file) },
    search: { ...search, corpus: absolute(search.corpus), cacheFile: absolute(search.cacheFile) },
    custom: tools.custom.map(own => ({
      ...own,
      module: absolute(own.module),
      folder: absolute(own.folder),
    })),
  };
}
