/** What a replay found, in sentences. Knows nothing of where they are read. */
import { verdict } from './explain.ts';
import { plain, withoutZero } from './figures.ts';
import type { Cause, Drawn, PathReplay, Replay } from './replay.ts';
import type { Decision, Reward } from './types.ts';

export const pathName = ({ path, again }: PathReplay): string =>
  path === undefined ? `trajectory ${again} of the replay` : `trajectory ${path}`;

/** One line: `identical, 212 tokens; log p equal` or `diverged at token 31 of turn 2 (token 104): …`. */
export function pathVerdict({ shared, compared, largestDifference, cause, parting }: PathReplay): string {
  if (!cause) return `identical: ${shared} tokens; ${numbersSentence(compared, largestDifference)}`;
  if (!parting) return `${HEADS[cause.kind]}${shared > 0 ? ` after the same ${shared} tokens` : ''}`;
  const { token, tokenOfSegment, turn } = parting;
  const place = cause.kind === 'tool' ? `the result after turn ${turn}` : `turn ${turn + 1}`;
  return `diverged at token ${tokenOfSegment} of ${place} (token ${token} of the trajectory): ${HEADS[cause.kind]}`;
}

const HEADS: Record<Cause['kind'], string> = {
  tool: 'the tool answered differently',
  sampler: 'the policy drew another token',
  end: 'one of the two goes on in another way',
  decision: 'a branching question was answered otherwise',
  group: 'the group had other trajectories by then',
  reward: 'another reward',
};

export const numbersSentence = (compared: number, largest: number): string =>
  compared === 0
    ? 'nothing was drawn'
    : largest === 0
      ? `log p of ${compared} tokens equal to the bit`
      : `log p of ${compared} tokens within ${largest.toExponential(1)}`;

/** A trajectory that differs, in a line, and what that hangs on. */
export interface Explained {
  path: PathReplay;
  head: string;
  lines: string[];
}

/** The trajectories that differ; where it hangs on the same as that of an earlier one, that one is named. */
export function explained(paths: readonly PathReplay[]): Explained[] {
  const known = new Map<string, string>();
  return paths
    .filter(({ cause }) => cause)
    .map(path => {
      const lines = causeLines(path);
      const key = `${path.shared}\n${lines.join('\n')}`;
      const earlier = known.get(key);
      const head = `${pathName(path)}: ${pathVerdict(path)}`;
      if (earlier !== undefined) return { path, head: `${head}, as of ${earlier}`, lines: [] };
      known.set(key, pathName(path));
      return { path, head, lines };
    });
}

/** What the difference hangs on, with the numbers or words of both sides; empty where there is none. */
export function causeLines({ cause, compared, largestDifference, parting }: PathReplay): string[] {
  if (!cause) return [];
  const before = compared === 0 ? [] : [`before it ${numbersSentence(compared, largestDifference)}`];
  switch (cause.kind) {
    case 'tool':
      return [
        `${cause.tool}(${quoted(cause.argument)})`,
        `stored (${cause.stored.outcome}): ${quoted(cause.stored.text)}`,
        `replay (${cause.again.outcome}): ${quoted(cause.again.text)}`,
        ...before,
      ];
    case 'sampler':
      return [
        ...textLines(parting),
        `${drawn('stored', cause.stored)}; ${drawn('replay', cause.again)}`,
        ...before,
        likely(cause.stored, cause.again),
      ];
    case 'end':
      return [`stored ${cause.stored}`, `replay ${cause.again}`, ...textLines(parting), ...before];
    case 'decision':
      return [asked('stored', cause.stored), asked('replay', cause.again)];
    case 'group':
      return [`stored ${cause.stored} trajectories, replay ${cause.again}`];
    case 'reward':
      return [rewarded('stored', cause.stored), rewarded('replay', cause.again)];
  }
}

const textLines = (parting: PathReplay['parting']): string[] =>
  parting === undefined
    ? []
    : [
        `after  …${quoted(parting.before)}`,
        `stored ${quoted(parting.stored)}…`,
        `replay ${quoted(parting.again)}…`,
      ];

const drawn = (side: string, { logProb, entropy }: Drawn): string =>
  `${side} log p ${plain(logProb, 4)}, H ${plain(entropy, 4)}`;

/** Distributions of the same entropy, to the bit, are the same. */
function likely({ entropy }: Drawn, again: Drawn): string {
  if (entropy === undefined || again.entropy === undefined)
    return 'likely: other weights, or another sampler';
  return entropy === again.entropy
    ? 'likely: other random numbers, such as those of another seed, for H is equal to the bit'
    : `likely: other weights, another engine or device, for H differs by ${Math.abs(again.entropy - entropy).toExponential(1)}`;
}

const asked = (side: string, decision: Decision | undefined): string =>
  decision === undefined
    ? `${side}: not asked`
    : `${side}: H₀ ${plain(decision.initialEntropy, 4)}, Hₜ ${plain(decision.entropy, 4)}, ${verdict(decision)} (${decision.made} of ${decision.total} made)`;

const rewarded = (side: string, reward: Reward | undefined): string =>
  reward === undefined
    ? `${side}: not judged`
    : `${side}: ${withoutZero(String(reward.total))} (${reward.reason})`;

/** Characters of an answer that a line shows. */
const SHOWN = 240;

function quoted(text: string): string {
  const characters = Array.from(text);
  return JSON.stringify(
    characters.length <= SHOWN
      ? text
      : `${characters.slice(0, SHOWN).join('')}… (${characters.length} characters)`,
  );
}

/** One sentence about a tree. */
export function treeVerdict({ tree, paths, decisions }: Replay): string {
  const differing = paths.filter(({ cause }) => cause).length;
  const questions = `${decisions.same} of ${decisions.stored} branching questions answered alike`;
  if (differing > 0)
    return `tree ${tree}: ${differing} of ${paths.length} trajectories came out differently; ${questions}`;
  const largest = Math.max(0, ...paths.map(({ largestDifference }) => largestDifference));
  const numbers =
    largest === 0 ? 'every log p equal to the bit' : `every log p within ${largest.toExponential(1)}`;
  return `tree ${tree}: identical, ${paths.length} trajectories; ${questions}; ${numbers}`;
}
