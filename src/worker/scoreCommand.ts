/** `score RUN`: a stored trajectory under two checkpoints, and what training made likelier. Knows nothing of how tokens are scored. */
import { summarizeChange, changeAt, type PathChange } from '../core/likelihood.ts';
import { change } from '../core/figures.ts';
import { textOf, type Pieces } from '../core/pieces.ts';
import { tokensOfPath } from '../core/tree.ts';
import type { TokenColumns, Tree } from '../core/types.ts';
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
import { score } from './score.ts';

export async function scoreCommand(call: Call, io: Io): Promise<ExitCode> {
  const run = ownRunOf(call);
  const id = textOption(call, 'tree');
  const path = numberOption(call, 'path', 0);
  if (id === undefined || path === undefined)
    throw new UsageError(
      '--tree and --path are needed: the id of a tree, such as 3.0, and a trajectory of it.',
    );
  const checkpoints = checkpointsOf(call);
  const changed = await interruptible(io, asking =>
    score(
      run,
      realEquipment(text => io.err.write(text)),
      { tree: id, path, checkpoints, ...asking },
    ),
  );
  const tree = await run.tree(id);
  const words = { ids: (await run.columns(id)).ids, pieces: await run.pieces() };
  io.out.write(`${showChange({ tree, path, ...words }, changed).join('\n')}\n`);
  // What was not measured is null: JSON has no NaN.
  if (hasSwitch(call, 'json')) io.out.write(`${JSON.stringify({ tree: id, path, ...changed })}\n`);
  return 0;
}

function checkpointsOf(call: Call): [string, string] {
  const [before, after, ...more] = (textOption(call, 'checkpoints') ?? '')
    .split(',')
    .map(name => name.trim());
  if (!before || !after || more.length > 0)
    throw new UsageError('--checkpoints is needed: two of step-N and initial, such as initial,step-40.');
  return [before, after];
}

interface Scored {
  tree: Tree;
  path: number;
  ids: TokenColumns['ids'];
  pieces: Pieces | undefined;
}

/** The change as lines for a terminal. */
function showChange({ tree, path, ids, pieces }: Scored, changed: PathChange): string[] {
  const { turns, tokens, change: total, raised, lowered } = summarizeChange(tree, path, changed);
  const places = tokensOfPath(tree, path);
  const row = (token: number): string => {
    const text = pieces
      ? JSON.stringify(textOf(pieces, [ids[places[token]!]!]))
      : `token ${ids[places[token]!]}`;
    const { before, after } = changed;
    return `  ${change(changeAt(changed, token), 3)}  ${change(before.logProbs[token], 3)} → ${change(after.logProbs[token], 3)}  ${text} (number ${token})`;
  };
  return [
    `tree ${tree.id}, trajectory ${path}: log p ${changed.names.join(' → ')}, sum ${change(total, 3)} over ${tokens} drawn tokens; nothing was written`,
    ...turns.map(
      turn =>
        `  turn ${turn.turn + 1}: ${change(turn.change, 3)} over ${turn.tokens} tokens, entropy ${change(turn.entropyChange, 3)} on average`,
    ),
    ...(raised.length > 0 ? ['most raised', ...raised.map(row)] : []),
    ...(lowered.length > 0 ? ['most lowered', ...lowered.map(row)] : []),
  ];
}
