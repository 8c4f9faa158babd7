/** Judges a path: format, answer, tools used. Knows nothing of groups, advantages or how answers are compared. */
import { compare, wordF1, type Comparison } from './answers.ts';
import { closingTag, firstBlock, lastBoxed, occurrences, openingTag } from './tags.ts';
import { responseText, responseTokens, segmentsOf } from './tree.ts';
import type { Reward, Segment, Tree } from './types.ts';

export interface RewardSettings {
  accuracy: Comparison;
  /** Total of a trajectory with a bad format; negative. */
  formatPenalty: number;
  /** Paper r_M. */
  multiToolBonus: number;
  /** Tags of all tools that the policy may call, for telling unfinished calls under rule `paper`; search and python where absent. */
  tools?: readonly string[];
  /** DAPO's soft penalty of long answers; none where absent. */
  overlong?: Overlong;
}

export interface Overlong {
  /** Tokens of a response that lose the whole penalty, and how many tokens before them it begins. */
  limit: number;
  tokens: number;
  penalty: number;
}

/** What a response of so many tokens loses: nothing up to limit − tokens, then linearly more, up to the penalty. */
export const overlongLoss = (length: number, { limit, tokens, penalty }: Overlong): number =>
  tokens <= 0 ? 0 : penalty * Math.min(1, Math.max(0, (length - (limit - tokens)) / tokens));

/**
 * Reward of one path: the penalty where the format is bad, else accuracy, plus the bonus where it is above 0 and more than
 * one tool was used (paper §3.4). Rule `paper` looks at what the model wrote and at the calls that were executed; rule
 * `upstream` at the raw text, tool results included, as the released code does.
 */
export function judge(tree: Tree, path: number, settings: RewardSettings): Reward {
  return lessLength(tree, path, judgeAnswer(tree, path, settings), settings.overlong);
}

/** The reward less what the path's length loses of it, where lengths are penalised. */
export function lessLength(tree: Tree, path: number, reward: Reward, overlong: Overlong | undefined): Reward {
  if (!overlong) return reward;
  const length = -overlongLoss(responseTokens(tree, path), overlong);
  return { ...reward, total: reward.total + length, parts: { ...reward.parts, length } };
}

function judgeAnswer(tree: Tree, path: number, settings: RewardSettings): Reward {
  const evidence =
    tree.rule === 'upstream' ? rawEvidence(tree, path) : ownEvidence(tree, path, settings.tools);
  const fault = evidence.fault ?? answerFault(evidence.text);
  const answer = fault === undefined ? lastBoxed(firstBlock(evidence.text, 'answer')!)?.trim() : undefined;
  if (answer === undefined)
    return {
      total: settings.formatPenalty,
      parts: { format: settings.formatPenalty, accuracy: 0, tools: 0 },
      correct: false,
      reason: fault ?? 'The boxed answer has no end.',
    };
  const accuracy = accuracyOf(answer, tree, settings.accuracy);
  const tools = accuracy > 0 && evidence.usesTools ? settings.multiToolBonus : 0;
  return {
    total: accuracy + tools,
    parts: { format: 0, accuracy, tools },
    correct: accuracy >= 1,
    answer,
    reason: reasonOf(accuracy, tools > 0),
  };
}

/** Tools that the format check and the bonus of rule `upstream` know; the paper's own. */
const UPSTREAM_TOOLS = ['search', 'python'] as const;

/** What a path is judged by. */
interface Evidence {
  text: string;
  /** What is wrong with the thinking or the calls; absent where nothing is. */
  fault: string | undefined;
  /** Whether more than one tool was used. */
  usesTools: boolean;
}

/** Rule `paper`: the model's own text, so that a page with tags in it harms nobody, and calls that did run. */
function ownEvidence(tree: Tree, path: number, tools?: readonly string[]): Evidence {
  const segments = segmentsOf(tree, path).map(index => tree.segments[index]!);
  const said = segments.flatMap(segment => (segment.kind === 'model' ? [segment.text] : [])).join('');
  // Templates of thinking models open the first thought themselves. upstream: every trajectory of theirs has a bad format.
  const text = /<think>\s*$/.test(segments[0]?.text ?? '') ? `<think>${said}` : said;
  const executed = segments.flatMap(({ call }) => (call && call.outcome !== 'refused' ? [call.tool] : []));
  return {
    text,
    fault: thinkFault(text) ?? callFault(segments, tools),
    usesTools: new Set(executed).size > 1,
  };
}

/** Rule `upstream`: everything after the prompt as text. */
function rawEvidence(tree: Tree, path: number): Evidence {
  const text = responseText(tree, path);
  const chain = UPSTREAM_TOOLS.map(tool => chainFault(text, tool)).find(found => found !== undefined);
  const usesTools = UPSTREAM_TOOLS.every(tool => text.includes(closingTag(tool)));
  return { text, fault: thinkFault(text) ?? countFault(text) ?? chain, usesTools };
}

function thinkFault(text: string): string | undefined {
  const opened = occurrences(text, '<think>');
  const closed = occurrences(text, '</think>');
  if (opened !== closed) return `There are ${opened} <think> but ${closed} </think>.`;
  return opened === 0 ? 'There is no <think> … </think>.' : undefined;
}

/** A call that got no result: the last thing written is a tag without its pair, or a call without argument or beyond the limit. */
function callFault(
  segments: readonly Segment[],
  tools: readonly string[] = UPSTREAM_TOOLS,
): string | undefined {
  const last = segments.findLast(({ kind }) => kind === 'model');
  if (last?.stop === 'call-limit') return 'A tool was called beyond the limit.';
  if (last?.stop === 'empty-call') return 'A tool was called without an argument.';
  const tool = last && tools.find(tag => last.text.includes(openingTag(tag)));
  const isAnswered = segments.at(-1)?.kind === 'tool';
  return tool && !isAnswered ? `The call of ${tool} was not finished.` : undefined;
}

/** Each `<tool>` must be followed by its end, then a result and its end; upstream: the same scan. */
function chainFault(text: string, tool: string): string | undefined {
  for (let at = text.indexOf(openingTag(tool)); at >= 0;) {
    const result = text.indexOf('<result>', at);
    const close = text.indexOf(closingTag(tool), at);
    const resultEnd = result < 0 ? -1 : text.indexOf('</result>', result);
    if (close < 0 || result < close || resultEnd < 0)
      return `A call of ${tool} is not followed by its result.`;
    at = text.indexOf(openingTag(tool), resultEnd);
  }
  return undefined;
}

function answerFault(text: string): string | undefined {
  const count = countFault(text);
  if (count !== undefined) return count;
  const open = text.indexOf('<answer>');
  const close = text.indexOf('</answer>');
  if (open > close) return 'The answer ends before it begins.';
  const answer = text.slice(open, close);
  return answer.includes('\\boxed{') && answer.includes('}') ? undefined : 'The answer has no \\boxed{…}.';
}

function countFault(text: string): string | undefined {
  const opened = occurrences(text, '<answer>');
  const closed = occurrences(text, '</answer>');
  if (opened === 0 && closed === 0) return 'There is no answer.';
  return opened === 1 && closed === 1
    ? undefined
    : `There are ${opened} <answer> and ${closed} </answer>, not one each.`;
}

function accuracyOf(answer: string, tree: Tree, comparison: Comparison): number {
  const { references } = tree.task;
  if (tree.rule === 'upstream' && (comparison === 'auto' || comparison === 'f1'))
    return Math.max(0, ...references.map(reference => wordF1(answer, reference)));
  return compare(answer, references, comparison);
}

function reasonOf(accuracy: number, hasBonus: boolean): string {
  const found = accuracy >= 1 ? 'Right' : accuracy > 0 ? `Partly right (${accuracy.toFixed(2)})` : 'Wrong';
  return `${found}${hasBonus ? ', with more than one tool' : ''}.`;
}
