/**
 * All tools of a run behind one verb, with limits: every call gets an answer, whatever a tool does. Knows nothing of what
 * the tools are or of token streams.
 */
import { errorText } from '../../core/types.ts';
import { elapsed } from '../../run/clock.ts';
import { lateText, type PooledResult, type Tool, type ToolPool, type ToolResult } from './tool.ts';

export interface PoolOptions {
  /** From the start of a call's execution; waiting in the queue does not count. */
  timeoutMs: number;
  /** Calls executed at once, over all tools. */
  concurrency: number;
}

interface Queued {
  tool: Tool;
  start(): void;
}

/** The pool owns the tools from here on: closing it closes them. */
export function openPool(tools: readonly Tool[], options: PoolOptions): ToolPool {
  const byTag = new Map(tools.map(tool => [tool.tag, tool]));
  const inFlight = new Map<string, Promise<ToolResult>>();
  const queue = openQueue(options.concurrency);
  const closing = new AbortController();

  const execute = async (tool: Tool, argument: string): Promise<ToolResult> => {
    await queue.enter(tool);
    try {
      const timeoutMs = options.timeoutMs + (tool.patienceMs ?? 0);
      return await answerOf(tool, argument, { timeoutMs, closing: closing.signal });
    } finally {
      queue.leave(tool);
    }
  };
  const answer = (tool: Tool, argument: string): { result: Promise<ToolResult>; shared: boolean } => {
    const key = `${tool.tag}\n${argument}`;
    const running = inFlight.get(key);
    if (running) return { result: running, shared: true };
    const result = execute(tool, argument).finally(() => inFlight.delete(key));
    inFlight.set(key, result);
    return { result, shared: false };
  };
  return {
    tags: [...byTag.keys()],
    describe: () => Object.fromEntries(tools.map(tool => [tool.tag, tool.description])),
    async call(tag, argument): Promise<PooledResult> {
      const tool = byTag.get(tag);
      if (!tool) return { ...refusal(tag, [...byTag.keys()]), latencyMs: 0, shared: false };
      const startedAt = elapsed();
      const { result, shared } = answer(tool, argument);
      return { ...(await result), latencyMs: elapsed() - startedAt, shared };
    },
    async close() {
      closing.abort();
      await Promise.all(inFlight.values());
      await Promise.all(tools.map(tool => tool.close()));
    },
  };
}

/** First come first served, but a call whose tool is busy lets those of other tools pass. */
function openQueue(concurrency: number): { enter(tool: Tool): Promise<void>; leave(tool: Tool): void } {
  const waiting: Queued[] = [];
  const running = new Map<Tool, number>();
  let total = 0;
  const count = (tool: Tool): number => running.get(tool) ?? 0;
  const hasRoom = (tool: Tool): boolean => count(tool) < (tool.concurrency ?? Infinity);
  const startNext = (): void => {
    while (total < concurrency) {
      const next = waiting.findIndex(({ tool }) => hasRoom(tool));
      const [queued] = next < 0 ? [] : waiting.splice(next, 1);
      if (!queued) return;
      total++;
      running.set(queued.tool, count(queued.tool) + 1);
      queued.start();
    }
  };
  return {
    enter: tool =>
      new Promise(start => {
        waiting.push({ tool, start });
        startNext();
      }),
    leave(tool) {
      total--;
      running.set(tool, count(tool) - 1);
      startNext();
    },
  };
}

/** The tool's result, or what a policy reads where it has none. Does not wait for a tool that ignores its signal. */
async function answerOf(
  tool: Tool,
  argument: string,
  { timeoutMs, closing }: { timeoutMs: number; closing: AbortSignal },
): Promise<ToolResult> {
  if (closing.aborted) return failure(tool, 'the tools are closed');
  const stop = new AbortController();
  const late: ToolResult = { outcome: 'timed-out', text: lateText(tool.tag, timeoutMs) };
  let cleanUp = (): void => undefined;
  const interruption = new Promise<ToolResult>(interrupt => {
    const timer = setTimeout(() => interrupt(late), timeoutMs);
    const onClosing = (): void => interrupt(failure(tool, 'the tools were closed'));
    closing.addEventListener('abort', onClosing);
    cleanUp = () => {
      clearTimeout(timer);
      closing.removeEventListener('abort', onClosing);
    };
  });
  try {
    return await Promise.race([attempt(tool, argument, stop.signal), interruption]);
  } finally {
    cleanUp();
    stop.abort();
  }
}

async function attempt(tool: Tool, argument: string, signal: AbortSignal): Promise<ToolResult> {
  try {
    const result = await tool.run(argument, signal);
    // upstream: the same sentence.
    return result.text.trim() === ''
      ? { ...result, text: `Tool(${tool.tag}) returned empty output.` }
      : result;
  } catch (error) {
    return failure(tool, errorText(error));
  }
}

/** upstream: the same sentence. */
const failure = (tool: Tool, message: string): ToolResult => ({
  outcome: 'failed',
  text: `Error: Tool(${tool.tag}) execution failed with message: ${message}`,
});

const refusal = (tag: string, tags: readonly string[]): ToolResult => ({
  outcome: 'refused',
  text: `There is no tool ${tag}; the tools are: ${tags.join(', ') || 'none'}.`,
});
