/** What a tool is. Knows nothing of policies, tags in token streams or budgets. */
import type { ToolOutcome } from '../../core/types.ts';

export interface ToolResult {
  outcome: ToolOutcome;
  /** What the policy reads between the result tags; never empty. */
  text: string;
}

/**
 * A tool answers a call with a result; a failure is a result too. Where `run` rejects, the pool makes the result; a
 * PassingError says that the same call may succeed later.
 */
export interface Tool {
  /** The tag that calls it: `search` for <search>…</search>. */
  readonly tag: string;
  /** What answers, in words, for the run's record: `bubblewrap with Python 3.11`, `Pyodide 314`, `4,400 documents`. */
  readonly description: string;
  /** Calls that it can work on at once; absent for as many as the pool allows. */
  readonly concurrency?: number;
  /** Time beyond the pool's limit, for what it starts before it can work on a call; absent for none. */
  readonly patienceMs?: number;
  run(argument: string, signal: AbortSignal): Promise<ToolResult>;
  close(): Promise<void>;
}

/** What a policy reads of a call that took too long. */
export const lateText = (tag: string, timeoutMs: number): string =>
  `Tool(${tag}) did not answer within ${timeoutMs / 1000} seconds.`;

/** A result with what the pool measured. */
export interface PooledResult extends ToolResult {
  latencyMs: number;
  /** True where an identical call in flight, the cache or a recording answered. */
  shared: boolean;
}

/** All tools of a run behind one verb, with limits. */
export interface ToolPool {
  readonly tags: readonly string[];
  describe(): Readonly<Record<string, string>>;
  call(tag: string, argument: string): Promise<PooledResult>;
  close(): Promise<void>;
}
