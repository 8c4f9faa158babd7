/** Reward settings as a text to edit, and the outcome of other rewards as a text with links. Knows nothing of VS Code or of how rewards are found. */
import { keyNames, keyOf } from '../core/configKeys.ts';
import type { RewardConfig } from '../core/configTools.ts';
import { counted, plain } from '../core/figures.ts';
import type { Rescored, RescoredGroup, RescoredPath } from '../core/rescore.ts';
import { shorten } from '../core/wrap.ts';
import { signed } from './trajectoryText.ts';

/** The run's reward settings as JSON with comments. */
export function rewardTemplate(run: string, reward: RewardConfig): string {
  const lines = keyNames
    .filter(key => key.startsWith('reward.'))
    .flatMap(key => {
      const [, name = '', part] = key.split('.');
      if (part !== undefined) return [];
      const spec = keyOf(key);
      const choices = spec.kind === 'choice' ? ` ${Object.keys(spec.choices).join(' | ')}.` : '';
      const value = JSON.stringify(reward[name as keyof RewardConfig]);
      return [`  // ${spec.description}${choices}`, `  ${JSON.stringify(name)}: ${value},`];
    });
  return [
    `// How ${run} rewarded its trajectories. Change it, then choose the lens below, or ▷ beside the tabs. Nothing in the run is changed.`,
    '{',
    ...lines,
    '  // A module or a command of your own, in place of the keys above; {} for none.',
    `  "custom": ${JSON.stringify(isOwn(reward) ? reward.custom : {})}`,
    '}',
    '',
  ].join('\n');
}

const isOwn = ({ custom }: RewardConfig): boolean => custom.module !== '' || custom.command.length > 0;

/** A stretch of a line that opens a tree, or one of its trajectories. */
export interface Link {
  line: number;
  start: number;
  end: number;
  tree: string;
  path?: number;
}

export interface RescoredText {
  text: string;
  links: Link[];
}

/** Changes of an advantage below this do not show in its digits. */
const SHOWN = 0.005;

/** Groups by their greatest change, each above those of its trajectories that changed. */
export function layOutRescored(run: string, rescored: Rescored): RescoredText {
  const { steps, trees, trajectories, meanBefore, meanAfter, flips, signChanges, gained, lost } = rescored;
  const lines: string[] = [];
  const links: Link[] = [];
  const changed = rescored.groups.filter(isChanged);
  lines.push(
    `# ${run} under other reward settings: ${counted(trajectories, 'trajectory', 'trajectories')} of ${counted(trees, 'group')} in ${counted(steps, 'step')}`,
    `# mean reward ${signed(meanBefore)} → ${signed(meanAfter)}`,
    `# ${counted(flips, 'pair')} of trajectories in another order · ${counted(signChanges, 'advantage')} of another sign`,
    `# ${counted(gained, 'group')} with new variance · ${counted(lost, 'group')} without it any more`,
    '# Greatest change of an advantage first. Nothing in the run was changed.',
    '',
  );
  if (changed.length === 0) lines.push('No advantage would have been another.');
  else lines.push(HEAD);
  for (const group of changed) {
    links.push({ line: lines.length, start: 0, end: group.tree.length, tree: group.tree });
    lines.push(groupLine(group));
    for (const path of group.paths.filter(isMoved)) {
      const name = `trajectory ${path.path}`;
      links.push({ line: lines.length, start: 4, end: 4 + name.length, tree: group.tree, path: path.path });
      lines.push(pathLine(name, path));
    }
  }
  const same = rescored.groups.length - changed.length;
  if (changed.length > 0 && same > 0) lines.push('', `${counted(same, 'group')} with no change that shows.`);
  return { text: `${lines.join('\n')}\n`, links };
}

const isChanged = ({ shift, flips, variance }: RescoredGroup): boolean =>
  shift >= SHOWN || flips > 0 || variance !== 'unchanged';

const isMoved = ({ before, after }: RescoredPath): boolean =>
  before.reward !== after.reward || Math.abs((before.advantage ?? 0) - (after.advantage ?? 0)) >= SHOWN;

const WIDTHS = { tree: 10, mean: 18, flips: 7, signs: 7, variance: 11, shift: 9 };
const HEAD = [
  'tree'.padEnd(WIDTHS.tree),
  'mean reward'.padEnd(WIDTHS.mean),
  'flips'.padStart(WIDTHS.flips),
  'signs'.padStart(WIDTHS.signs),
  `  ${'variance'.padEnd(WIDTHS.variance)}`,
  'max |ΔA|'.padStart(WIDTHS.shift),
  '  question',
].join('');

const groupLine = ({
  tree,
  meanBefore,
  meanAfter,
  flips,
  signChanges,
  variance,
  shift,
  question,
}: RescoredGroup) =>
  [
    tree.padEnd(WIDTHS.tree),
    `${signed(meanBefore)} → ${signed(meanAfter)}`.padEnd(WIDTHS.mean),
    String(flips).padStart(WIDTHS.flips),
    String(signChanges).padStart(WIDTHS.signs),
    `  ${(variance === 'unchanged' ? '' : variance).padEnd(WIDTHS.variance)}`,
    plain(shift, 2).padStart(WIDTHS.shift),
    `  ${shorten(question, 80)}`,
  ].join('');

function pathLine(name: string, { before, after }: RescoredPath): string {
  const advantages = `A ${advantage(before)} → ${advantage(after)}`;
  const turns = (before.advantage ?? 0) * (after.advantage ?? 0) < 0 ? ' (other sign)' : '';
  const rewards = `R ${signed(before.reward)} → ${signed(after.reward)}`;
  return `    ${name.padEnd(16)}${rewards}   ${advantages}${turns}   ${shorten(after.reason, 60)}`.trimEnd();
}

const advantage = ({ advantage }: RescoredPath['before']): string =>
  advantage === undefined ? 'not learned from' : signed(advantage);
