/** A tool of the user's own, answered by a program. Knows nothing of how the program runs, of limits or of other tools. */
import { basename } from 'node:path';
import type { OwnTool } from '../../core/configTools.ts';
import type { ToolOutcome } from '../../core/types.ts';
import { lateText, type Tool, type ToolResult } from '../tools/tool.ts';
import { LateError, openProgram, type Answer } from './program.ts';

/** A program that is started again is tried again, which its first caller waits for. */
const START_ALLOWANCE_MS = 30_000;

/**
 * Opens the program and tries it with one call, to which an error is an answer too. Throws a FailureError that names the tool
 * where it does not answer as it should.
 */
export async function openOwnTool(own: OwnTool, timeoutMs: number): Promise<Tool> {
  const check = (answer: Answer): void => void (answer.error === undefined && resultFrom(answer));
  const probe = { argument: 'probe', probe: true };
  const program = await openProgram(
    own,
    { timeoutMs, probe, check },
    {
      name: `tools.custom: the tool ${own.tag} does not work`,
      fix: 'Let it answer {"id": 1, "text": "…"} to {"id": 1, "argument": "…"}, one JSON object per line; or remove it from tools.custom.',
    },
  );
  return {
    tag: own.tag,
    // The journal has it, which tells nothing of where on the machine a project lies.
    description: own.module === '' ? program.label : basename(own.module),
    patienceMs: START_ALLOWANCE_MS,
    async run(argument, signal) {
      try {
        return resultFrom(await program.ask({ argument }, signal));
      } catch (error) {
        if (error instanceof LateError) return { outcome: 'timed-out', text: lateText(own.tag, timeoutMs) };
        throw error;
      }
    },
    close: () => program.close(),
  };
}

const OUTCOMES: readonly ToolOutcome[] = ['ok', 'error'];

/** What the program answered, checked; throws an Error that names the part that is wrong. */
function resultFrom({ text, outcome = 'ok' }: Answer): ToolResult {
  if (typeof text !== 'string')
    throw new Error(`Its "text" must be a text, but is ${JSON.stringify(text) ?? 'missing'}.`);
  const known = OUTCOMES.find(one => one === outcome);
  if (!known) throw new Error(`Its "outcome" must be "ok" or "error", but is ${JSON.stringify(outcome)}.`);
  return { outcome: known, text };
}
