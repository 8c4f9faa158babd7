/** Draws trees and steps as text for a terminal. Knows nothing of files, colours or the width of a window. */
import { isCounterfactual } from '../core/counterfactual.ts';
import type { StepSummary } from '../core/events.ts';
import { change, decimal, percent, plain } from '../core/figures.ts';
import type { Decision, Path, Segment, Tree } from '../core/types.ts';

/** One tree with its segments, decisions, rewards and advantages; one string per line. */
export function showTree(tree: Tree): string[] {
  const references = tree.task.references.map(reference => JSON.stringify(reference)).join(' or ');
  const head = [
    `tree ${tree.id}   ${tree.paths.length} of ${tree.total} trajectories, ${tree.initial} from the prompt at first, rule ${tree.rule}`,
    `task ${tree.task.id}${tree.task.ability ? ` (${tree.task.ability})` : ''}: ${oneLine(tree.task.question, 160)}`,
    `expects ${references}`,
    ...probeLines(tree),
    ...(tree.imported ? [importedLine(tree.imported)] : []),
    ...(isCounterfactual(tree.id) ? ['a counterfactual: not trained on'] : []),
    ...(tree.isDropped ? ['dropped by the filter: all trajectories earned the same'] : []),
  ];
  return [...head, ...drawSegment(tree, 0, '', '')];
}

const importedLine = ({ source, hasTokens }: NonNullable<Tree['imported']>): string =>
  `imported from ${source}, which logged no branches${hasTokens ? '' : ' and no tokens'}`;

/** What decided how many trajectories start from the prompt. */
function probeLines({ probe, total, initial }: Tree): string[] {
  if (!probe) return [];
  const { form, rootEntropy, turnEntropy, share, calls } = probe;
  const entropies = `H of the prompt ${plain(rootEntropy)}, of turns ${plain(turnEntropy)}`;
  return [
    `probe ${form}: ${entropies} → ${plain(share, 2)} of ${total}, so ${initial}   (${calls.length} ${calls.length === 1 ? 'call' : 'calls'})`,
  ];
}

/**
 * A segment and all below it. `first` begins the segment's own line, `rest` all lines after it. A chain without forks
 * keeps its column, so that indentation counts forks and not turns.
 */
function drawSegment(tree: Tree, index: number, first: string, rest: string): string[] {
  const children = tree.segments.flatMap((segment, i) => (segment.parent === index ? [i] : []));
  const ends = tree.paths.flatMap((path, i) => (path.leaf === index ? [i] : []));
  const lines = [`${first}● ${segmentLabel(tree, index)}`];
  const stem = children.length > 0 ? '│' : ' ';
  for (const decision of tree.decisions.filter(decision => decision.segment === index))
    lines.push(`${rest}${stem}   ◇ ${decisionLabel(decision)}`);
  for (const path of ends) lines.push(`${rest}${stem}   ■ ${pathLabel(tree, path)}`);
  if (children.length === 1) return [...lines, ...drawSegment(tree, children[0]!, rest, rest)];
  children.forEach((child, n) => {
    const isLast = n === children.length - 1;
    lines.push(
      ...drawSegment(tree, child, `${rest}${isLast ? '└─' : '├─'}`, `${rest}${isLast ? '  ' : '│ '}`),
    );
  });
  return lines;
}

function segmentLabel(tree: Tree, index: number): string {
  const segment = tree.segments[index]!;
  const hard = tree.credit?.hard[index];
  const facts = [
    `${index} ${segment.kind}`,
    callLabel(segment),
    tree.imported?.hasTokens === false ? '' : `${segment.count} tokens`,
    segment.entropy === undefined ? '' : `H ${plain(segment.entropy)}`,
    hard === undefined || hard === null ? '' : `hard ${change(hard, 3)}`,
    segment.stop === undefined ? '' : `ends by ${segment.stop}`,
  ];
  return `${facts.filter(fact => fact !== '').join('  ')}  ${oneLine(segment.text, 72)}`;
}

const callLabel = ({ call, asked }: Segment): string =>
  call === undefined
    ? (asked?.tool ?? '')
    : `${call.tool} ${call.outcome}${call.shared ? ', shared' : ''} ${Math.round(call.latencyMs)} ms`;

/** The question's numbers and its answer, also where the answer was no. */
export function decisionLabel(decision: Decision): string {
  const { initialEntropy, entropy, entropyDelta, penalty, probability, draw, threshold, outcome } = decision;
  const entropies = `H₀ ${plain(initialEntropy)}  Hₜ ${plain(entropy)}  ΔH ${change(entropyDelta, 3)}`;
  const gate =
    draw !== undefined
      ? `drew ${plain(draw, 2)}`
      : threshold !== undefined
        ? `τ ${plain(threshold, 2)}`
        : 'not drawn';
  const answer = {
    branch: `branched into path ${decision.child ?? '?'}`,
    refuse: 'refused',
    budget: `no budget (${decision.made} of ${decision.total} made)`,
    length: 'no tokens left',
  }[outcome];
  const damped = penalty
    ? ` damped by ${plain(penalty.factor, 2)} after ${penalty.consecutive} in a row`
    : '';
  return `path ${decision.path} asks: P ${plain(probability, 2)}${damped}, ${gate} → ${answer}   (${entropies})`;
}

function pathLabel(tree: Tree, index: number): string {
  const path: Path = tree.paths[index]!;
  const origin = path.from
    ? `branch of path ${path.from.path} after segment ${path.from.segment}`
    : path.origin;
  const soft = tree.credit?.soft[index];
  const reward = path.reward;
  const parts = Object.entries(reward?.parts ?? {}).map(([name, value]) => `${name} ${change(value, 3)}`);
  const named = parts.length > 0 ? ` (${parts.join(', ')})` : '';
  const judged = reward ? `reward ${change(reward.total, 3)}${named}  ` : '';
  const credited = soft === undefined ? '' : `soft ${change(soft, 3)}  `;
  const mark = reward ? (reward.correct ? '✓ ' : '✗ ') : '';
  return `path ${index} (${origin})  ${mark}${judged}${credited}${oneLine(reward?.answer ?? '', 40)}  ${reward?.reason ?? ''}`.trimEnd();
}

/** Column heads and one row per step: the same table that a run prints while it trains. */
export const STEP_HEADS =
  'step     reward    right  entropy  after tool  taken  refused  calls      loss     grad  seconds';

/** `steps` is 0 where it is not known how many there shall be. */
export function stepRow(step: number, steps: number, summary: StepSummary): string {
  const { reward, accuracy, entropy, branches, toolCalls, loss, gradientNorm, seconds } = summary;
  const cells: [string, number][] = [
    [change(reward.mean, 3), 8],
    [accuracy === undefined ? '–' : percent(accuracy), 9],
    [measured(entropy.all, 3), 9],
    [measured(entropy.afterTool, 3), 12],
    [measured(branches?.taken, 0), 7],
    [measured(branches?.refused, 0), 9],
    [String(toolCalls.total), 7],
    [measured(loss, 5), 10],
    [measured(gradientNorm, 3), 9],
    [seconds === undefined ? '–' : decimal(seconds.total, 1), 9],
  ];
  return (
    (steps > 0 ? `${step}/${steps}` : String(step)).padEnd(7) +
    cells.map(([text, width]) => text.padStart(width)).join('')
  );
}

const measured = (value: number | undefined, digits: number): string =>
  value === undefined ? '–' : plain(value, digits);

/** Text on one line in quotes, cut with an ellipsis; nothing for nothing. */
export function oneLine(text: string, length: number): string {
  if (text === '') return '';
  const characters = Array.from(text);
  return JSON.stringify(characters.length <= length ? text : characters.slice(0, length - 1).join('') + '…');
}
