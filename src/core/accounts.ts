/** A run, a step and a branch told in Markdown, for whoever reads text: a language model, an issue. Knows nothing of files or views. */
import { alarms } from './alarms.ts';
import { percent, plain } from './figures.ts';
import type { FinishedStep, FinishedTree, RunState } from './fold.ts';
import { decisionLines, formula, verdict } from './explain.ts';
import type { Decision, Tree } from './types.ts';
import { cut } from './wrap.ts';

/** Characters of a text that are quoted. */
const QUOTED = 600;

/** Numbers of the steps as a table, the oldest first; a dash where a number was not logged. */
export function stepTable(summaries: readonly FinishedStep[]): string[] {
  const rows = summaries.map(({ step, summary }) => {
    const { reward, accuracy, entropy, branches, toolCalls, groups, responseTokens, seconds } = summary;
    const cells = [
      step,
      number(reward.mean),
      accuracy === undefined ? number(accuracy) : percent(accuracy),
      number(entropy.all),
      number(entropy.afterTool),
      branches === undefined
        ? number(undefined)
        : `${branches.asked}/${branches.taken}/${branches.refused}/${branches.filled}`,
      `${toolCalls.total} (${number(toolCalls.errors)})`,
      `${groups.allRight}/${groups.mixed}/${groups.allWrong}`,
      number(summary.loss),
      number(summary.gradientNorm),
      number(summary.kl ?? summary.approximateKl),
      number(summary.clipFraction),
      number(summary.mismatch?.mean),
      number(responseTokens?.mean),
      number(seconds?.total),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| step | reward | right | entropy | after tool | asked/taken/refused/filled | calls (errors) | groups right/mixed/wrong | loss | grad norm | KL | clipped | mismatch | tokens | seconds |',
    `|${' --- |'.repeat(15)}`,
    ...rows,
  ];
}

/** One finished step: its numbers, what looks wrong in the run, and its trees. Undefined where the step has not finished. */
export function stepAccount(state: RunState, step: number): string | undefined {
  const found = state.summaries.find(summary => summary.step === step);
  if (!found) return undefined;
  const hints = alarms(state).map(({ step, sentence }) => `- ${sentence} (step ${step})`);
  return [
    `# Step ${step}${state.steps > 0 ? ` of ${state.steps}` : ''}`,
    '',
    ...stepTable([found]),
    '',
    'Entropies are nats; clipped is the share of tokens whose ratio was clipped; mismatch is the mean |sampler − trainer| log-probability.',
    '',
    '## What looks wrong in the run',
    ...(hints.length > 0 ? hints : ['Nothing.']),
    '',
    '## Trees',
    ...state.trees.filter(tree => tree.step === step).map(treeLine),
  ].join('\n');
}

function treeLine({ id, task, rewards, branches, refused, span }: FinishedTree): string {
  const kept = span ? '' : ', not kept';
  const asked =
    branches === undefined || refused === undefined ? '' : `, ${branches} branched, ${refused} refused`;
  return `- ${id}: task ${task}, rewards ${rewards.map(number).join(' ')}${asked}${kept}`;
}

/** Every branching question of a tree, or those after one segment: the numbers, why it was answered so, and what came of it. */
export function branchAccount(tree: Tree, segment?: number): string {
  const asked = tree.decisions.filter(decision => segment === undefined || decision.segment === segment);
  const head = [
    `# Tree ${tree.id}`,
    '',
    `Question: ${quoted(tree.task.question)}`,
    `Expected: ${tree.task.references.join(' or ')}`,
    `${tree.paths.length} of ${tree.total} trajectories, ${tree.initial} from the prompt; rule ${tree.rule}.`,
  ];
  if (asked.length === 0)
    return [
      ...head,
      '',
      segment === undefined
        ? 'No branch was asked for.'
        : `No branch was asked for after segment ${segment}.`,
    ].join('\n');
  return [...head, ...asked.flatMap(decision => decisionAccount(tree, decision))].join('\n');
}

function decisionAccount(tree: Tree, decision: Decision): string[] {
  const { segment, path, child } = decision;
  const call = tree.segments[segment]?.call;
  return [
    '',
    `## After segment ${segment}, on trajectory ${path}: ${verdict(decision)}`,
    formula(decision),
    '',
    ...decisionLines(decision).map(
      ({ term, value, meaning }) => `- ${term} = ${value}${meaning === undefined ? '' : ` (${meaning})`}`,
    ),
    ...(call ? [`- The tool: ${call.tool}, ${call.outcome}, asked ${quoted(call.argument)}`] : []),
    `- It answered: ${quoted(tree.segments[segment]?.text ?? '')}`,
    `- ${pathAccount(tree, path)}`,
    ...(child === undefined ? [] : [`- Made: ${pathAccount(tree, child)}`]),
  ];
}

function pathAccount(tree: Tree, path: number): string {
  const reward = tree.paths[path]?.reward;
  const advantage = tree.credit?.soft[path];
  if (!reward) return `trajectory ${path}, not judged`;
  const credited = advantage === undefined ? '' : `, advantage ${number(advantage)}`;
  return `trajectory ${path}: reward ${number(reward.total)}${credited}, ${reward.reason}`;
}

const quoted = (text: string): string => JSON.stringify(cut(text, QUOTED));
const number = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value)
    ? '–'
    : Number.isInteger(value)
      ? String(value)
      : plain(value, Math.abs(value) < 0.01 ? 5 : 3);
