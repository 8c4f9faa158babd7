/** `train CONFIG --dry-run`: one real step in a folder of its own, its numbers, and nothing kept. Knows nothing of the loop. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../core/config.ts';
import type { Event, MeasuredSummary } from '../core/events.ts';
import { plain, whole } from '../core/figures.ts';
import { FailureError, type Failure } from '../core/types.ts';
import { createRun, type NewRun } from '../run/create.ts';
import { sizeText } from '../run/usage.ts';
import { hasSwitch, UsageError, type Call, type ExitCode, type Io } from './commandLine.ts';
import type { Equipment } from './equipment.ts';
import { makeProgress } from './progress.ts';
import { work } from './session.ts';
import { stopOnSignals } from './signals.ts';

/** Prints the step's summary, with `--json` as {"dryRun": …} in the last line. Throws the failure that ended the step. */
export async function dryRun(run: NewRun, call: Call, io: Io, equipment: Equipment): Promise<ExitCode> {
  if (hasSwitch(call, 'detach'))
    throw new UsageError('A dry run keeps nothing, so it cannot go on by itself.');
  const parent = mkdtempSync(join(tmpdir(), 'branchpoint-dry-'));
  const clean = (): void => rmSync(parent, { recursive: true, force: true });
  // Who ends a dry run waits for no step; what it started ends with it.
  const unlisten = stopOnSignals(() => {
    clean();
    process.exit(130);
  });
  try {
    const { folder } = await createRun({ ...run, config: oneStep(run.config, parent) });
    const summary = await stepOf(folder, io, equipment);
    io.out.write(
      hasSwitch(call, 'json')
        ? `${JSON.stringify({ dryRun: summary })}\n`
        : `${dryRunText(summary, run.config)}\n`,
    );
    return 0;
  } finally {
    unlisten();
    clean();
  }
}

const oneStep = (config: Config, runs: string): Config => ({
  ...config,
  ...{ runs, steps: 1 },
  optimizer: { ...config.optimizer, warmupSteps: Math.min(1, config.optimizer.warmupSteps) },
  evaluation: { ...config.evaluation, tasks: 0 },
  tools: { ...config.tools, cassette: recordingApart(config.tools.cassette, runs) },
});

/** A recording is made by a run that is kept: what a dry run records goes into a copy. */
function recordingApart(cassette: Config['tools']['cassette'], folder: string): typeof cassette {
  const { mode, file } = cassette;
  if (mode === 'off' || mode === 'replay') return cassette;
  const copy = join(folder, 'recording.jsonl');
  if (mode === 'replay-or-record' && existsSync(file)) copyFileSync(file, copy);
  return { mode, file: copy };
}

async function stepOf(folder: string, io: Io, equipment: Equipment): Promise<MeasuredSummary> {
  let summary: MeasuredSummary | undefined;
  let failure: Failure | undefined;
  const outcome = await work(folder, equipment, control => {
    const { close, tell } = makeProgress(io.err, () => control.status);
    return {
      tell(event: Event) {
        tell(event);
        if (event.type === 'step-finished') summary = event.summary as MeasuredSummary;
        if (event.type !== 'run-ended') return;
        failure = event.failure;
        close();
      },
      ...{ isAlone: true, isTrial: true },
    };
  });
  if (outcome !== 'failed' && summary) return summary;
  throw new FailureError(failure ?? { where: 'bug', message: `The dry run ${outcome} without a step.` });
}

function dryRunText(
  { seconds, memory, tokens, branches, toolCalls, reward, trajectories }: MeasuredSummary,
  { tools }: Config,
): string {
  const held = memory === undefined ? '' : `; ${sizeText(memory.worker + (memory.engine ?? 0))} in memory`;
  const idle =
    tokens.trained > 0
      ? []
      : [
          'In no group did trajectories earn different rewards, so no update was made: with updates it takes longer.',
        ];
  return [
    `A step takes ${seconds.total.toFixed(1)} s: ${seconds.rollout.toFixed(1)} s of rollouts, ${seconds.learn.toFixed(1)} s of learning${held}.`,
    `It grew ${trajectories} trajectories of ${whole(tokens.unique)} tokens, ${branches.taken} of ${branches.asked} branching questions answered with yes, ${toolCalls.total} tool calls; reward ${plain(reward.mean)} in the mean.`,
    ...idle,
    `Nothing of it was kept${tools.cache === '' ? '' : ', but for the answers of tools in tools.cache'}.`,
  ].join('\n');
}
