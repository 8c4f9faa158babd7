/** Calls every tool once with something harmless. Knows nothing of policies. */
import { ok, warning, wrong, type CheckResult } from '../../core/checkup.ts';
import type { ToolsConfig } from '../../core/configTools.ts';
import type { Task } from '../../core/types.ts';
import { cut } from '../../core/wrap.ts';
import type { ToolPool } from '../tools/tool.ts';

const QUESTION_CHARACTERS = 200;

/** Where a recording alone answers, it cannot know these calls. */
export async function checkTools(
  tools: ToolPool,
  task: Task | undefined,
  { callLimit, cassette: { mode, file } }: Pick<ToolsConfig, 'callLimit' | 'cassette'>,
): Promise<CheckResult[]> {
  if (tools.tags.length === 0)
    return [
      warning('tools', 'The config has no tool, so that no trajectory branches.', {
        key: 'tools.python.enabled',
        fix: 'Set tools.python.enabled, or name a corpus in tools.search.corpus.',
      }),
    ];
  if (callLimit === 0)
    return [
      warning('tools', 'No trajectory may call a tool, so that none branches: tools.callLimit is 0.', {
        key: 'tools.callLimit',
        fix: 'Allow calls, or take a preset without branching and close the tools.',
      }),
    ];
  if (mode === 'replay')
    return [
      ok('tools', `Only the recording ${file} answers, for ${tools.tags.join(', ')}; no tool is called.`),
    ];
  return Promise.all(tools.tags.map(tag => checkTool(tools, tag, task)));
}

async function checkTool(tools: ToolPool, tag: string, task: Task | undefined): Promise<CheckResult> {
  const question = task?.messages
    .findLast(({ role }) => role === 'user')
    ?.content.slice(0, QUESTION_CHARACTERS);
  const argument = tag === 'python' ? 'print(6 * 7)' : (question ?? 'test');
  const { outcome, text, latencyMs } = await tools.call(tag, argument);
  const id = `tools.${tag}`;
  const said = JSON.stringify(cut(text, 80));
  const what = `${tools.describe()[tag]} answered in ${Math.round(latencyMs)} ms`;
  if (tag === 'python' && (outcome !== 'ok' || text.trim() !== '42'))
    return wrong(id, `${what}, but print(6 * 7) gave ${said} (${outcome}).`, {
      key: 'tools.python.sandbox',
      fix: 'Try the other sandbox.',
    });
  if (outcome === 'ok') return ok(id, `${what}: ${said}.`);
  const extras = { fix: 'Look at what it says; a run goes on with such results as if they were answers.' };
  return outcome === 'error'
    ? warning(id, `${what} with an error: ${said}.`, extras)
    : wrong(id, `${what}: ${outcome}, ${said}.`, extras);
}
