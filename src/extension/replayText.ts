/** What a replay found as a text with links to the differences. Knows nothing of VS Code or of how trees are drawn again. */
import { isIdentical, type PathReplay, type Replay } from '../core/replay.ts';
import { explained, pathName, treeVerdict } from '../core/replayText.ts';
import { FailureError } from '../core/types.ts';
import type { LinkedText } from './linkedTexts.ts';
import { counted } from '../core/figures.ts';
import { weightsName } from '../core/counterfactual.ts';

/** The program's outcome. */
export interface ReplayOutcome {
  step: number;
  weights: { checkpoint: string };
  tools: 'stored' | 'live';
  answers: { stored: number; live: number };
  changed: string[];
  seconds: number;
  trees: Replay[];
  /** The trees that were drawn, in the same order, as another program hands trees over. */
  grown: unknown[];
}

/** The program's last line, checked. */
export function replayFrom(line: string): ReplayOutcome {
  const value = JSON.parse(line) as Partial<ReplayOutcome>;
  if (Array.isArray(value.trees) && Array.isArray(value.grown) && value.grown.length === value.trees.length)
    return value as ReplayOutcome;
  throw new FailureError({
    where: 'bug',
    message: `The replay’s outcome cannot be read: ${line.slice(0, 200)}`,
  });
}

/** A sentence for where all came out the same. */
export function identicalSentence({ trees, weights }: Pick<ReplayOutcome, 'trees' | 'weights'>): string {
  const [only] = trees;
  const what = trees.length === 1 && only ? `Tree ${only.tree}` : `All ${counted(trees.length, 'tree')}`;
  const paths = trees.reduce((sum, tree) => sum + tree.paths.length, 0);
  const largest = Math.max(0, ...trees.flatMap(tree => tree.paths.map(path => path.largestDifference)));
  const numbers = largest === 0 ? 'equal to the bit' : `within ${largest.toExponential(1)}`;
  return `${what} drawn again with ${weightsName(weights.checkpoint)}: identical. ${counted(paths, 'trajectory', 'trajectories')} of the same tokens, decisions and rewards; log p ${numbers}.`;
}

/** `drawn` are the ids of the trees that were drawn, in the outcome's order. */
export function layOutReplay(
  { runFolder, run, drawn }: { runFolder: string; run: string; drawn: readonly string[] },
  outcome: ReplayOutcome,
): LinkedText {
  const { step, weights, tools, answers, changed, trees } = outcome;
  const same = trees.filter(isIdentical).length;
  const lines = [
    `# ${run}, step ${step}, drawn again with ${weightsName(weights.checkpoint)}: ${same} of ${counted(trees.length, 'tree')} identical`,
    answers.stored + answers.live === 0
      ? '# No tool was called'
      : tools === 'stored'
        ? `# ${counted(answers.stored, 'call')} answered as they were answered, ${answers.live} that the stored tree does not have by the tools`
        : `# ${counted(answers.live, 'call')} made anew`,
    ...changed.map(sentence => `# ${oneLine(sentence)}`),
    '# Nothing in the run was changed. What was drawn is kept until the window closes.',
  ];
  const links: LinkedText['links'] = [];
  trees.forEach((tree, i) => {
    lines.push('', treeVerdict(tree));
    links.push({
      line: lines.length - 1,
      start: 0,
      end: `tree ${tree.tree}`.length,
      command: 'openTree',
      argument: { runFolder, tree: tree.tree },
      tooltip: `Open tree ${tree.tree}`,
    });
    for (const { path, head, lines: because } of explained(tree.paths)) {
      lines.push(`  ${head}`);
      links.push(pathLink(lines.length - 1, path, { runFolder, tree: tree.tree, drawn: drawn[i]! }));
      lines.push(...because.map(line => `      ${oneLine(line)}`));
    }
  });
  return { text: `${lines.join('\n')}\n`, links };
}

/** Reasons of rewards and failures are other people's words; links are found by the lines' numbers. */
const oneLine = (text: string): string => text.replace(/\s*[\r\n]+\s*/g, ' ');

/** To the difference; to the one side where the other has no such trajectory. */
function pathLink(
  line: number,
  replayed: PathReplay,
  { runFolder, tree, drawn }: { runFolder: string; tree: string; drawn: string },
): LinkedText['links'][number] {
  const place = { line, start: 2, end: 2 + pathName(replayed).length };
  const { path, again } = replayed;
  if (path !== undefined && again !== undefined)
    return {
      ...place,
      command: 'compareTrajectory',
      argument: { runFolder, tree, path, other: { tree: drawn, path: again } },
      tooltip: 'Show both side by side',
    };
  const argument = path === undefined ? { runFolder, tree: drawn, path: again } : { runFolder, tree, path };
  return { ...place, command: 'openTrajectory', argument, tooltip: 'Open the trajectory as text' };
}
