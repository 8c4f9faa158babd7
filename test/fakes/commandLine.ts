/** What tests of the command line begin with: a small configuration and its tasks as files, and a command run in this process. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommandLine } from '../../src/worker/commands.ts';

export interface Said {
  code: number;
  out: string;
  err: string;
}

/** Runs a command line in this process and returns its exit code and what it wrote. */
export async function runCommand(...argv: string[]): Promise<Said> {
  let [out, err] = ['', ''];
  const io = {
    out: { write: (text: string) => (out += text) },
    err: { write: (text: string) => (err += text) },
  };
  return { code: await runCommandLine(argv, io), out, err };
}

/** Rollouts that take a moment. */
export const TINY_ROLLOUT = {
  tasksPerStep: 2,
  groupSize: 4,
  initialRollouts: 2,
  maxPromptTokens: 64,
  maxResponseTokens: 12,
};

/** Writes `<name>.branchpoint.json` for a policy in `model` and tasks in `tasks.jsonl`; `change` takes the place of whole sections. */
export function writeConfig(folder: string, name: string, change: Record<string, unknown> = {}): string {
  const content = {
    steps: 2,
    threads: 1,
    runs: 'runs',
    policy: { path: 'model' },
    data: { train: 'tasks.jsonl', heldOut: 'tasks.jsonl' },
    rollout: TINY_ROLLOUT,
    tools: { python: { enabled: false } },
    algorithm: { updatesPerStep: 1 },
    evaluation: { tasks: 3, samples: 1 },
    checkpoint: { every: 1 },
    ...change,
  };
  const file = join(folder, `${name}.branchpoint.json`);
  writeFileSync(file, JSON.stringify(content, null, 2));
  return file;
}

/** Writes sums into `tasks.jsonl`. */
export function writeTasks(folder: string, count = 8): void {
  const tasks = Array.from({ length: count }, (_, i) =>
    JSON.stringify({ question: `What is ${i} + 1?`, answer: String(i + 1) }),
  );
  writeFileSync(join(folder, 'tasks.jsonl'), tasks.join('\n'));
}
