/** A tree that still grows, in the shape of a finished one: numbers without text. Knows nothing of files or views. */
import type { LiveTree, RunState } from '../core/fold.ts';
import type { Path, Segment, Tree } from '../core/types.ts';

/** The tree as far as the facts tell it; undefined where the step that is under way has none of that name. */
export function growingTree({ live }: RunState, id: string): Tree | undefined {
  const tree = live?.trees.find(tree => tree.id === id);
  if (live === undefined || tree === undefined) return undefined;
  const segments = segmentsOf(tree);
  const paths = pathsOf(tree, segments);
  const task = live.tasks[Number(id.split('.')[1])] ?? '';
  return {
    id,
    step: live.step,
    task: { id: task, question: task, references: [], ability: '' },
    rule: tree.decisions[0]?.rule ?? 'paper',
    initial: paths.filter(({ origin }) => origin === 'initial').length,
    total: tree.decisions[0]?.total ?? paths.length,
    segments,
    paths,
    decisions: tree.decisions,
  };
}

/** In order of their indices; facts of one tree may be told in another order. */
function segmentsOf({ segments, calls }: LiveTree): Segment[] {
  let start = 0;
  return segments
    .toSorted((a, b) => a.segment - b.segment)
    .map(({ segment, parent, kind, tokens, turn, entropy, stop }) => {
      const call = calls[segment];
      const grown: Segment = {
        parent,
        kind,
        start,
        count: tokens,
        text: '',
        turn,
        ...(stop !== undefined && { stop }),
        ...(entropy !== undefined && { entropy }),
        ...(call !== undefined && { call: { ...call, argument: '' } }),
      };
      start += tokens;
      return grown;
    });
}

/** A path ends, so far, at the last segment that it grew; one that grew none yet stands where it left its parent. */
function pathsOf(tree: LiveTree, segments: readonly Segment[]): Path[] {
  const branches = new Map(
    tree.decisions.flatMap(({ child, path, segment }) =>
      child === undefined ? [] : [[child, { path, segment }] as const],
    ),
  );
  const last = Math.max(-1, ...tree.segments.map(({ path }) => path), ...branches.keys());
  return Array.from({ length: last + 1 }, (_, index): Path => {
    const own = tree.segments.filter(({ path }) => path === index);
    const from = branches.get(index);
    const leaf = own.reduce((leaf, { segment }) => Math.max(leaf, segment), from?.segment ?? 0);
    const reward = tree.rewards?.[index];
    return {
      leaf,
      origin: from !== undefined ? 'branch' : (own[0]?.origin ?? 'initial'),
      ...(from !== undefined && { from }),
      calls: callsOn(segments, leaf),
      stop: segments[leaf]?.stop ?? 'call',
      ...(reward !== undefined && {
        // The fact tells totals only: a full accuracy part is what brings one to 1.
        reward: { total: reward, parts: {}, correct: reward >= 1, reason: 'The tree is not written yet.' },
      }),
    };
  });
}

function callsOn(segments: readonly Segment[], leaf: number): number {
  let calls = 0;
  for (let at = leaf; at >= 0 && segments[at] !== undefined; at = segments[at]!.parent)
    if (segments[at]!.kind === 'tool' && segments[at]!.call?.outcome !== 'refused') calls++;
  return calls;
}
