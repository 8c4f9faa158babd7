/** What a counterfactual shall be drawn from and with, and the command line for it. Knows nothing of VS Code or of who is asked. */
import type { BranchPoint } from '../core/counterfactual.ts';
import { counted } from '../core/figures.ts';
import { payloadOf } from '../core/tags.ts';
import { segmentsOf } from '../core/tree.ts';
import type { Tree } from '../core/types.ts';
import { FailureError } from '../core/types.ts';
import { signed } from './trajectoryText.ts';
import { weightsName } from '../core/counterfactual.ts';

export interface BranchPlan {
  at: BranchPoint;
  /** File whose text takes the place of the tool's result. */
  resultFile?: string;
  /** The run's where absent. */
  temperature?: number;
  /** The newest that can be used where absent. */
  checkpoint?: string;
  samples: number;
  /** One that is new to the tree where absent. */
  seed?: number;
}

/** Samples of a plan that nobody changed. */
export const SAMPLES = 4;

/** One way to go on from a place. */
export interface Way {
  at: BranchPoint;
  /** What is done there, for a list. */
  label: string;
  /** What the tool said there; absent where no result can be given. */
  result?: string;
}

/**
 * The ways to go on from a segment of a trajectory, the likeliest first; `cursor` is the number of the segment's tokens before the
 * reader's place. Throws where the segment is not on the path.
 */
export function waysFrom(tree: Tree, path: number, segment: number, cursor = 0): Way[] {
  const walked = segmentsOf(tree, path);
  const place = walked.indexOf(segment);
  const here = tree.segments[segment];
  if (place < 0 || here === undefined)
    throw new FailureError({
      where: 'config',
      message: `Segment ${segment} is not on trajectory ${path} of tree ${tree.id}.`,
    });
  const at = { path, segment };
  switch (here.kind) {
    case 'prompt':
      return [{ at, label: 'Begin again after the prompt' }];
    case 'tool':
      return [
        {
          at,
          label: `Go on after the result of ${here.call?.tool ?? 'the tool'}`,
          result: payloadOf(here.text),
        },
      ];
    // What was appended belongs to the turn before it.
    case 'forced':
      return waysFrom(tree, path, walked[place - 1]!);
    case 'model':
      break;
  }
  const next = tree.segments[walked[place + 1] ?? -1];
  const again: Way = { at: { ...at, token: 0 }, label: `Draw turn ${here.turn + 1} again` };
  const inside: Way = {
    at: { ...at, token: cursor },
    label: `Go on in turn ${here.turn + 1} after its first ${counted(cursor, 'token')}`,
  };
  const called: Way[] =
    next?.call === undefined || next.call.outcome === 'refused'
      ? []
      : [{ at, label: `Call ${next.call.tool} again, and go on`, result: payloadOf(next.text) }];
  return cursor > 0 && cursor < here.count ? [inside, again, ...called] : [again, ...called];
}

/** The command line of a plan. */
export function argumentsOf(runFolder: string, tree: string, plan: BranchPlan): string[] {
  const { at, resultFile, temperature, checkpoint, samples, seed } = plan;
  const given = {
    tree,
    path: at.path,
    segment: at.segment,
    token: at.token,
    'tool-result': resultFile,
    temperature,
    checkpoint,
    samples,
    seed,
  };
  const options = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}=${value}`],
  );
  return ['branch', runFolder, ...options, '--json'];
}

/** What the program says of a counterfactual that it has stored. */
export interface Branched {
  id: string;
  rewards: number[];
  mean?: number;
  original?: number;
  difference?: number;
  weights: { checkpoint: string; step: number };
}

/** The program's last line, checked. */
export function branchedFrom(line: string): Branched {
  const value: unknown = JSON.parse(line);
  const { id, rewards, weights } = value as Partial<Branched>;
  if (typeof id === 'string' && Array.isArray(rewards) && typeof weights?.checkpoint === 'string')
    return value as Branched;
  throw new FailureError({ where: 'bug', message: `The branch’s outcome cannot be read: ${line}` });
}

/** The outcome in a sentence. */
export function sentenceOf({ id, rewards, mean, original, difference, weights }: Branched): string {
  const count = counted(rewards.length, 'sample');
  const from = weightsName(weights.checkpoint);
  if (mean === undefined) return `${id}: ${count} from ${from}, not judged.`;
  const against =
    original === undefined || difference === undefined
      ? ''
      : `, the original ${signed(original)}: ${signed(difference)}`;
  return `${id}: ${count} from ${from} earned ${signed(mean)} on average${against}. Not trained on.`;
}
