/** `replay RUN`: draws stored trees again and says whether they came out the same. Knows nothing of how they are drawn or compared. */
import { isIdentical } from '../core/replay.ts';
import { explained, treeVerdict } from '../core/replayText.ts';
import { grownText } from '../run/trees.ts';
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
import { ownRunOf } from './launch.ts';
import { replay, type Replayed } from './replay.ts';
import { weightsName } from '../core/counterfactual.ts';

export async function replayCommand(call: Call, io: Io): Promise<ExitCode> {
  const run = ownRunOf(call);
  const place = placeOf(call);
  const tools = toolsOf(call);
  const { grown, ...replayed } = await interruptible(io, asking =>
    replay(
      run,
      realEquipment(text => io.err.write(text)),
      { ...place, tools, ...asking },
    ),
  );
  io.out.write(`${showReplayed(replayed).join('\n')}\n`);
  if (hasSwitch(call, 'json')) {
    const drawn = hasSwitch(call, 'trees') ? { grown: grown.map(grownText) } : {};
    io.out.write(`${JSON.stringify({ ...replayed, ...drawn })}\n`);
  }
  return 0;
}

/** A step, and perhaps one of its trees by id or by its index in the step; a tree's id names its step, too. */
function placeOf(call: Call): { step: number; tree?: string } {
  const step = numberOption(call, 'step', 1);
  const tree = textOption(call, 'tree');
  if (tree === undefined) {
    if (step === undefined)
      throw new UsageError('--step or --tree is needed: a step, or the id of a tree, such as 3.0.');
    return { step };
  }
  if (/^\d+$/.test(tree)) {
    if (step === undefined)
      throw new UsageError(`--tree ${tree} needs --step, or write the tree’s id, such as 3.${tree}.`);
    return { step, tree: `${step}.${tree}` };
  }
  const named = Number(/^(\d+)\.\d+$/.exec(tree)?.[1]);
  if (Number.isNaN(named))
    throw new UsageError(`--tree must be the id of a tree, such as 3.0, not ${JSON.stringify(tree)}.`);
  if (step !== undefined && step !== named) throw new UsageError(`Tree ${tree} is not of step ${step}.`);
  return { step: named, tree };
}

function toolsOf(call: Call): 'stored' | 'live' {
  const tools = textOption(call, 'tools') ?? 'stored';
  if (tools === 'stored' || tools === 'live') return tools;
  throw new UsageError(`--tools must be stored or live, not ${JSON.stringify(tools)}.`);
}

/** The outcome as lines for a terminal: trajectories that came out the same are counted, the others explained. */
function showReplayed({ step, weights, tools, answers, changed, seconds, trees }: Replayed): string[] {
  const same = trees.filter(isIdentical).length;
  return [
    `step ${step} drawn again with ${weightsName(weights.checkpoint)} in ${seconds.toFixed(1)} s: ${same} of ${trees.length} trees identical; nothing was written`,
    `tools ${tools}: ${answers.stored} stored answers, ${answers.live} calls made`,
    ...changed.map(sentence => `${sentence}.`),
    ...trees.flatMap(tree => [
      treeVerdict(tree),
      ...explained(tree.paths).flatMap(({ head, lines }) => [
        `  ${head}`,
        ...lines.map(line => `    ${line}`),
      ]),
    ]),
  ];
}
