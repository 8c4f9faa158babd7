/** `show RUN`: reads a run folder and prints its steps or trees. Knows nothing of how they are drawn. */
import { basename } from 'node:path';
import { counted } from '../core/figures.ts';
import { fold } from '../core/fold.ts';
import { FailureError } from '../core/types.ts';
import { openRun, type Run } from '../run/reader.ts';
import { usageOf, usageText } from '../run/usage.ts';
import { hasSwitch, numberOption, textOption, type Call, type ExitCode, type Io } from './commandLine.ts';
import { evaluationLine } from './progress.ts';
import { runFolderOf } from './launch.ts';
import { STEP_HEADS, showTree, stepRow } from './show.ts';

export async function showCommand(call: Call, io: Io): Promise<ExitCode> {
  const run = openRun(runFolderOf(call));
  const id = textOption(call, 'tree');
  const step = numberOption(call, 'step', 1);
  const isJson = hasSwitch(call, 'json');
  const lines =
    id === undefined && step === undefined
      ? await stepLines(run, isJson)
      : await treeLines(run, { id, step, isJson });
  io.out.write(`${lines.join('\n')}\n`);
  return 0;
}

async function treeLines(
  run: Run,
  { id, step, isJson }: { id: string | undefined; step: number | undefined; isJson: boolean },
): Promise<string[]> {
  const all = await run.trees();
  const chosen = id !== undefined ? [id] : all.filter(tree => tree.step === step).map(tree => tree.id);
  if (chosen.length === 0) {
    const last = all.at(-1)?.step;
    const fix = last === undefined ? 'It has no trees yet.' : `Its last step with trees is ${last}.`;
    throw new FailureError({ where: 'store', message: `${run.folder} has no trees of step ${step}.`, fix });
  }
  const trees = await Promise.all(chosen.map(each => run.tree(each)));
  return isJson ? trees.map(tree => JSON.stringify(tree)) : trees.flatMap(tree => [...showTree(tree), '']);
}

async function stepLines(run: Run, isJson: boolean): Promise<string[]> {
  const state = fold(await run.events());
  if (isJson) return state.summaries.map(({ step, summary }) => JSON.stringify({ step, ...summary }));
  const done = state.summaries.length;
  const trees = counted(state.trees.length, 'tree');
  // Nothing says how many steps an imported run is to do.
  const steps = run.source === undefined ? run.manifest.config.steps : 0;
  const head =
    run.source === undefined
      ? `${run.manifest.name}: ${state.status}, ${done} of ${steps} steps, ${trees}`
      : `${basename(run.folder)}: imported from ${run.source}, ${counted(done, 'step')}, ${trees}`;
  const rows = state.summaries.map(({ step, summary }) => stepRow(step, steps, summary));
  const evaluations = state.evaluations.map(({ step, summary }) => evaluationLine(step, summary));
  const failure = state.failure === undefined ? [] : [`failed: ${state.failure.message}`];
  return [head, STEP_HEADS, ...rows, ...evaluations, ...failure, usageText(usageOf(run.folder))];
}
