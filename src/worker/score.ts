/** Scores a stored trajectory, token for token, under two sets of a run's weights. Draws nothing and writes nothing. */
import { pack } from '../core/batch.ts';
import { pathAlone, type PathChange, type PathScores } from '../core/likelihood.ts';
import type { Grown } from '../core/tree.ts';
import { FailureError } from '../core/types.ts';
import type { Run } from '../run/reader.ts';
import { closingAfter } from './closing.ts';
import type { Equipment } from './equipment.ts';
import { reopenPolicy } from './reopen.ts';
import { unlessAborted } from './unlessAborted.ts';
import { weightsOf, type Weights } from './weights.ts';

export interface ScoreRequest {
  /** Id of a stored tree, or of a counterfactual. */
  tree: string;
  path: number;
  /** `initial`, or names of checkpoints: before and after. */
  checkpoints: readonly [string, string];
  progress(words: string): void;
  signal: AbortSignal;
}

/** Rejects with a FailureError where it cannot be done or was called off. One policy is open at a time. */
export async function score(
  run: Run,
  equipment: Equipment,
  { tree: id, path, checkpoints, progress, signal }: ScoreRequest,
): Promise<PathChange> {
  const grown = { tree: await run.tree(id), columns: await run.columns(id) };
  if (!grown.tree.paths[path])
    throw new FailureError({
      where: 'config',
      message: `Tree ${id} has no trajectory ${path}.`,
      fix: `Name one from 0 to ${grown.tree.paths.length - 1}.`,
    });
  const alone = pathAlone(grown, path);
  const [first, second] = [await weightsOf(run, checkpoints[0]), await weightsOf(run, checkpoints[1])];
  const under = (weights: Weights): Promise<PathScores> => {
    progress(`scoring under ${weights.checkpoint}`);
    return scoresOf(run, equipment, { weights, alone, signal });
  };
  return {
    names: [first.checkpoint, second.checkpoint],
    before: await under(first),
    after: await under(second),
  };
}

/** Only of tokens that the policy wrote: what others wrote was not chosen, however likely it was. */
const scoresOf = (
  run: Run,
  equipment: Equipment,
  { weights, alone, signal }: { weights: Weights; alone: Grown; signal: AbortSignal },
): Promise<PathScores> =>
  closingAfter(async closers => {
    const opened = { weights, purpose: 'evaluation', tags: [], signal } as const;
    const { policy } = await reopenPolicy(run, equipment, opened, closers);
    const scoring = policy.score([pack(alone)], run.manifest.config.rollout.temperature);
    const [found] = await unlessAborted(scoring, signal, calledOff());
    const logProbs = new Array<number>(alone.columns.ids.length).fill(NaN);
    const entropies = [...logProbs];
    for (const { kind, start, count } of alone.tree.segments)
      for (let token = start; kind === 'model' && token < start + count; token++) {
        logProbs[token] = found!.logProbs[token]!;
        entropies[token] = found!.entropies[token]!;
      }
    return { logProbs, entropies };
  });

const calledOff = (): FailureError =>
  new FailureError({ where: 'policy', message: 'Scoring was called off.' });
