/** `branch RUN`: goes on from a stored trajectory and says what came of it. Knows nothing of how a counterfactual is grown. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { differenceOf, type BranchPoint, type Counterfactual } from '../core/counterfactual.ts';
import { change } from '../core/figures.ts';
import type { Tree } from '../core/types.ts';
import { branch } from './branch.ts';
import {
  hasSwitch,
  numberOption,
  textOption,
  UsageError,
  type Call,
  type ExitCode,
  type Io,
} from './commandLine.ts';
import { realEquipment } from './equipment.ts';
import { interruptible } from './interruptible.ts';
import { ownRunOf, versions } from './launch.ts';
import { oneLine } from './show.ts';

/** Samples where their number is not given. */
const SAMPLES = 4;

export async function branchCommand(call: Call, io: Io): Promise<ExitCode> {
  const run = ownRunOf(call);
  const tree = textOption(call, 'tree');
  if (tree === undefined) throw new UsageError('--tree is needed: the id of a tree, such as 3.0.');
  const at = pointOf(call);
  const result = resultOf(call);
  const temperature = temperatureOf(call);
  const samples = numberOption(call, 'samples', 1) ?? (temperature === 0 ? 1 : SAMPLES);
  const checkpoint = textOption(call, 'checkpoint');
  const seed = numberOption(call, 'seed', 0);
  const counterfactual = await interruptible(io, asking =>
    branch(
      run,
      realEquipment(text => io.err.write(text)),
      {
        tree,
        at,
        samples,
        versions: versions(),
        ...asking,
        ...(result !== undefined && { result }),
        ...(temperature !== undefined && { temperature }),
        ...(checkpoint !== undefined && { checkpoint }),
        ...(seed !== undefined && { seed }),
      },
    ),
  );
  const original = await run.tree(tree);
  io.out.write(`${showCounterfactual(counterfactual, original).join('\n')}\n`);
  if (hasSwitch(call, 'json')) io.out.write(`${JSON.stringify(reportOf(counterfactual, original))}\n`);
  return 0;
}

function pointOf(call: Call): BranchPoint {
  const [path, segment] = (['path', 'segment'] as const).map(name => {
    const value = numberOption(call, name, 0);
    if (value === undefined)
      throw new UsageError(`--${name} is needed; \`branchpoint show RUN --tree ID\` lists them.`);
    return value;
  });
  const token = numberOption(call, 'token', 0);
  return { path: path!, segment: segment!, ...(token !== undefined && { token }) };
}

/** The text of a file where there is one of that name, else the argument itself. */
function resultOf(call: Call): string | undefined {
  const given = textOption(call, 'tool-result');
  if (given === undefined) return undefined;
  const file = resolve(given);
  return given !== '' && existsSync(file) && statSync(file).isFile() ? readFileSync(file, 'utf8') : given;
}

function temperatureOf(call: Call): number | undefined {
  const text = textOption(call, 'temperature');
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0 || value > 10)
    throw new UsageError(`--temperature must be a number from 0 to 10, not ${JSON.stringify(text)}.`);
  return value;
}

/** What `--json` prints last. */
const reportOf = (
  { tree: { paths }, ...counterfactual }: Counterfactual,
  original: Tree,
): Record<string, unknown> => ({
  ...counterfactual,
  ...differenceOf({ tree: { ...original, paths }, of: counterfactual.of }, original),
});

/** A counterfactual as lines for a terminal. */
function showCounterfactual(counterfactual: Counterfactual, original: Tree): string[] {
  const { id, of, result, weights, temperature, seed, seconds, tree } = counterfactual;
  const cut =
    of.token === undefined
      ? `after segment ${of.segment}`
      : `in segment ${of.segment}, ${of.token} tokens kept`;
  const changed =
    result === undefined
      ? ''
      : result === 'edited'
        ? ', its tool result replaced'
        : ', its tool called again';
  const { mean, original: before, difference } = differenceOf(counterfactual, original);
  return [
    `counterfactual ${id} of tree ${of.tree}, path ${of.path}, ${cut}${changed} (not trained on)`,
    `weights ${weights.checkpoint} (step ${weights.step}), temperature ${temperature}, seed ${seed}, ${tree.paths.length} samples in ${seconds.toFixed(1)} s`,
    ...tree.paths.map(({ reward, calls, stop }, sample) =>
      `  ${sample}  ${reward?.correct ? '✓' : '✗'} ${signed(reward?.total)}  ${calls} calls  ended by ${stop}  ${oneLine(reward?.answer ?? '', 40)}  ${reward?.reason ?? ''}`.trimEnd(),
    ),
    `mean ${signed(mean)}, the original ${signed(before)}, difference ${signed(difference)}`,
  ];
}

const signed = (value: number | undefined): string => (value === undefined ? 'not judged' : change(value, 3));
