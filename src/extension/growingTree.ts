/** A tree that still grows, in the shape of a finished one: numbers without text. Knows nothing of files or views. */
import type { LiveTree, RunOutline } from '../core/fold.ts';
import type { Listed } from '../core/neighbours.ts';
import type { Path, Segment, Tree } from '../core/types.ts';

/** The tree as far as the facts tell it; undefined where the step that is under way has none of that name. */
export function growingTree({ live }: RunOutline, id: string): Tree | undefined {
  const tree = live?.trees.find(tree => tree.id === id);
  if (live === undefined || tree === undefined) return undefined;
  const segments = segmentsOf(tree);
  const decisions = tree.decisions.filter(({ segment }) => segment < segments.length);
  const paths = pathsOf({ ...tree, decisions }, segments);
  const task = live.tasks[indexOf(id)] ?? '';
  return {
    id,
    step: live.step,
    task: { id: task, question: task, references: [], ability: '' },
    rule: tree.decisions[0]?.rule ?? 'paper',
    initial: paths.filter(({ origin }) => origin === 'initial').length,
    total: tree.decisions[0]?.total ?? paths.length,
    segments,
    paths,
    decisions,
  };
}

/** The trees of a run with those that still grow, whose tasks are known by their ids only. */
export function withGrowing(written: readonly Listed[], { live }: RunOutline): Listed[] {
  if (live === undefined) return [...written];
  const known = new Set(written.map(({ id }) => id));
  const growing = live.trees
    .filter(({ id }) => !known.has(id))
    .map(({ id }) => ({ id, step: live.step, question: live.tasks[indexOf(id)] ?? '' }));
  const all = [...written, ...growing];
  // Trees are written in the order in which they are done.
  return all.sort((a, b) => a.step - b.step || indexOf(a.id) - indexOf(b.id));
}

const indexOf = (id: string): number => Number(id.split('.')[1]);

/** In order of their indices, up to the first that was not told yet: facts of one tree may be told in another order. */
function segmentsOf({ segments, calls }: LiveTree): Segment[] {
  let start = 0;
  return segments
    .toSorted((a, b) => a.segment - b.segment)
    .filter(({ segment }, index) => segment === index)
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
  if (segments.length === 0) return [];
  const branches = new Map(
    tree.decisions.flatMap(({ child, path, segment }) =>
      child === undefined ? [] : [[child, { path, segment }] as const],
    ),
  );
  const last = Math.max(-1, ...tree.segments.map(({ path }) => path), ...branches.keys());
  return Array.from({ length: last + 1 }, (_, index): Path => {
    const own = tree.segments.filter(({ path, segment }) => path === index && segment < segments.length);
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
