/** Claims about a tree's shape: segments, paths, stops, lengths, calls. Knows nothing of rewards, credit or tokens' numbers. */
import type { Checked, Found } from './findings.ts';
import { childrenOf, responseTokens, segmentsOf } from './tree.ts';
import type { Path, Segment, StopReason, Tree } from './types.ts';

/** Segment 0 is the only prompt, and every other segment follows an earlier one. */
export function parents({ tree }: Checked): Found[] {
  return tree.segments.flatMap(({ parent, kind }, segment): Found[] => {
    const isRoot = segment === 0;
    if (isRoot !== (kind === 'prompt'))
      return [{ segment, message: `Segment ${segment} is of kind ${kind}; only segment 0 is the prompt.` }];
    if (isRoot ? parent === -1 : parent >= 0 && parent < segment) return [];
    return [{ segment, message: `Segment ${segment} has the parent ${parent}, which is not before it.` }];
  });
}

/** Segments own consecutive tokens, in order, so that every token is stored once. */
export function tokens({ tree, columns }: Checked): Found[] {
  let end = 0;
  const found = tree.segments.flatMap(({ start, count }, segment): Found[] => {
    const expected = end;
    end = start + count;
    if (start === expected && count >= 0) return [];
    const message = `Segment ${segment} begins at token ${start} instead of ${expected}.`;
    return [{ segment, token: start, message }];
  });
  if (columns && columns.ids.length !== end && found.length === 0)
    found.push({
      token: end,
      message: `The segments have ${end} tokens, the columns ${columns.ids.length}.`,
    });
  return found;
}

/**
 * Paths share what they have in common: only a prompt or a tool result forks, every path has a leaf of its own unless
 * nothing followed the fork, and a branch leaves its source where it says.
 */
export function siblings({ tree }: Checked): Found[] {
  const children = childrenOf(tree);
  const forks = tree.segments.flatMap(({ kind }, segment): Found[] => {
    if (kind === 'prompt' || kind === 'tool' || children[segment]!.length <= 1) return [];
    const message = `Segment ${segment} (${kind}) has ${children[segment]!.length} children; only a prompt or a result forks.`;
    return [{ segment, message }];
  });
  const strays = tree.segments.flatMap((_, segment): Found[] =>
    children[segment]!.length > 0 || tree.paths.some(({ leaf }) => leaf === segment)
      ? []
      : [{ segment, message: `Segment ${segment} is on no path.` }],
  );
  const branches = tree.paths.flatMap((path, index) => {
    const message = departure(tree, path, index);
    return message === undefined ? [] : [{ path: index, message }];
  });
  return [...forks, ...strays, ...branches];
}

/** What is wrong with where a path says that it came from. */
function departure(tree: Tree, { origin, from }: Path, index: number): string | undefined {
  if ((origin === 'branch') !== (from !== undefined))
    return `Path ${index} is of origin ${origin} and ${from ? 'names' : 'names no'} path that it left.`;
  if (!from) return undefined;
  if (from.path >= index) return `Path ${index} left path ${from.path}, which is not before it.`;
  const own = segmentsOf(tree, index);
  const source = segmentsOf(tree, from.path);
  const at = own.indexOf(from.segment);
  if (at < 0 || source[at] !== from.segment)
    return `Path ${index} left path ${from.path} after segment ${from.segment}, which is not on both.`;
  if (tree.segments[from.segment]?.kind !== 'tool')
    return `Path ${index} left after segment ${from.segment}, which is no tool result.`;
  const next = own[at + 1];
  return next !== undefined && next === source[at + 1]
    ? `Path ${index} left path ${from.path} after segment ${from.segment}, yet both go on with segment ${next}.`
    : undefined;
}

/** A segment's turn is the number of model segments before it on its path. */
export function turns({ tree }: Checked): Found[] {
  const expected: number[] = [];
  return tree.segments.flatMap(({ parent, turn }, segment): Found[] => {
    const before = tree.segments[parent];
    expected[segment] = before ? expected[parent]! + Number(before.kind === 'model') : 0;
    if (turn === expected[segment]) return [];
    return [
      { segment, message: `Segment ${segment} says turn ${turn}, but is in turn ${expected[segment]}.` },
    ];
  });
}

/** Only model segments have a stop; one that ended by a call goes on with its result, and a path ends as its leaf did. */
export function stops({ tree, settings }: Checked): Found[] {
  const children = childrenOf(tree);
  const bySegment = tree.segments.flatMap((segment, index): Found[] => {
    const message = wrongStop(segment, index, {
      parent: tree.segments[segment.parent],
      next: children[index]!.map(child => tree.segments[child]!.kind),
    });
    return message === undefined ? [] : [{ segment: index, message }];
  });
  const byPath = tree.paths.flatMap(({ leaf, stop }, path): Found[] => {
    const allowed = endsOf(tree, path, settings.maxResponseTokens);
    if (stop !== undefined && allowed.includes(stop)) return [];
    const message = `Path ${path} ended by ${stop ?? 'nothing that was told'}, but its last segment ${leaf} allows ${allowed.join(' or ') || 'no end'}.`;
    return [{ path, segment: leaf, message }];
  });
  return [...bySegment, ...byPath];
}

function wrongStop(
  { kind, stop, call }: Segment,
  index: number,
  { parent, next }: { parent: Segment | undefined; next: readonly Segment['kind'][] },
): string | undefined {
  if ((kind === 'model') !== (stop !== undefined))
    return `Segment ${index} (${kind}) ${stop ? `ended by ${stop}` : 'does not say why it ended'}.`;
  if ((kind === 'tool') !== (call !== undefined))
    return `Segment ${index} (${kind}) ${call ? 'has' : 'lacks'} a tool call.`;
  const isAsked = parent?.stop === 'call' || parent?.stop === 'call-limit';
  if (kind === 'tool' && !isAsked)
    return `Segment ${index} is a tool’s result, but what is before it made no call.`;
  if (kind === 'forced' && parent?.kind !== 'model') return `Segment ${index} is appended to no turn.`;
  const isOpen = stop === 'call' || stop === 'call-limit';
  if (stop !== undefined && !isOpen && next.length > 0)
    return `Segment ${index} ended its path by ${stop}, yet something follows it.`;
  return undefined;
}

/** The stops that a path with this leaf may have. */
function endsOf(tree: Tree, path: number, maxResponseTokens: number): StopReason[] {
  const { kind, stop } = tree.segments[tree.paths[path]!.leaf]!;
  switch (kind) {
    case 'model':
      return stop === undefined || stop === 'call' ? [] : [stop];
    case 'forced':
      return ['call-limit'];
    case 'tool':
      return responseTokens(tree, path) >= maxResponseTokens ? ['length'] : [];
    case 'prompt':
      return [];
  }
}

/** No path is longer than the config allows, and no turn. */
export function lengths({ tree, settings }: Checked): Found[] {
  const { maxResponseTokens, maxTurnTokens } = settings;
  const byPath = tree.paths.flatMap((_, path): Found[] => {
    const response = responseTokens(tree, path);
    if (response <= maxResponseTokens) return [];
    return [
      {
        path,
        message: `Path ${path} has ${response} tokens after the prompt; ${maxResponseTokens} are allowed.`,
      },
    ];
  });
  const byTurn = tree.segments.flatMap(({ kind, count }, segment): Found[] =>
    kind !== 'model' || maxTurnTokens === 0 || count <= maxTurnTokens
      ? []
      : [{ segment, message: `Turn ${segment} has ${count} tokens; ${maxTurnTokens} are allowed.` }],
  );
  return [...byPath, ...byTurn];
}

/** A path counts the calls on it, and has no more than the limits allow. A refused call need not count. */
export function calls({ tree, settings }: Checked): Found[] {
  return tree.paths.flatMap((path, index): Found[] => {
    const made = segmentsOf(tree, index).flatMap(segment => tree.segments[segment]!.call ?? []);
    const executed = made.filter(({ outcome }) => outcome !== 'refused');
    const at = { path: index };
    if (path.calls > made.length || path.calls < executed.length)
      return [
        {
          ...at,
          message: `Path ${index} counts ${path.calls} calls, but ${executed.length} were executed on it.`,
        },
      ];
    if (path.calls > settings.callLimit)
      return [
        { ...at, message: `Path ${index} made ${path.calls} calls; ${settings.callLimit} are allowed.` },
      ];
    return Object.entries(settings.limits).flatMap(([tool, limit]): Found[] => {
      const count = executed.filter(call => call.tool === tool).length;
      if (count <= limit) return [];
      return [{ ...at, message: `Path ${index} called ${tool} ${count} times; ${limit} are allowed.` }];
    });
  });
}

/** Not more trajectories than planned, from the prompt and in all. */
export function budget({ tree }: Checked): Found[] {
  const { paths, initial, total, decisions } = tree;
  const started = paths.filter(({ origin }) => origin === 'initial').length;
  const found: Found[] = [];
  if (paths.length > total) found.push({ message: `The tree has ${paths.length} trajectories of ${total}.` });
  if (started !== initial)
    found.push({
      message: `${started} trajectories started from the prompt at first, instead of ${initial}.`,
    });
  decisions.forEach(decision => {
    const at = { path: decision.path, segment: decision.segment };
    if (decision.total !== total)
      found.push({
        ...at,
        message: `A decision reckoned with ${decision.total} trajectories instead of ${total}.`,
      });
    else if (decision.made >= total && decision.outcome === 'branch')
      found.push({ ...at, message: `A branch was made when all ${total} trajectories were there.` });
  });
  return found;
}
