/**
 * Grows a task's group with the budget that the config asks for: fixed, or split by a probe (AEPO's pre-monitoring). Knows
 * nothing of rewards, learning or of the other tasks of the step.
 */
import { entropyOf, entropyScore, TOP_LOG_PROBS } from '../core/entropy.ts';
import { initialOf, rootShare } from '../core/preMonitoring.ts';
import { streamKey } from '../core/random.ts';
import type { Grown } from '../core/tree.ts';
import type { Probe, Task, Tree } from '../core/types.ts';
import { begin, type GrowContext } from './growing.ts';
import { fromPolicy, grow } from './rollout.ts';

/** As `grow`; where a probe decides, the tree says what it measured and `initial` is what came of it. */
export async function growGroup(task: Task, context: GrowContext): Promise<Grown> {
  const { budget } = context.config.algorithm;
  if (budget === 'fixed') return grow(task, context);
  const { groupSize } = context.config.rollout;
  const probe = await probeTask(task, context, budget);
  const initial = initialOf(budget, groupSize, probe.share);
  const grown = await grow(task, sized(context, initial, groupSize));
  return { ...grown, tree: { ...grown.tree, probe } };
}

/** Samples the prompt's continuation and one whole trajectory, at the same time; only what they measured is kept. */
async function probeTask(task: Task, context: GrowContext, form: Probe['form']): Promise<Probe> {
  const id = `${context.id ?? `${context.step}.${context.index}`}/probe`;
  const alone = { ...sized(context, 1, 1), id, tell: () => undefined };
  const [root, { tree }] = await Promise.all([sampleRoot(task, alone), grow(task, alone)]);
  const turnEntropy = meanTurn(tree, form) ?? root.entropy;
  const { groupSize } = context.config.rollout;
  return {
    form,
    rootEntropy: root.entropy,
    turnEntropy,
    share: rootShare(groupSize, root.entropy, turnEntropy, context.config.algorithm.budgetWeight),
    tokens: tree.segments.reduce((sum, { kind, count }) => sum + (kind === 'model' ? count : 0), root.tokens),
    calls: tree.segments.flatMap(({ call }) => {
      if (!call) return [];
      const { tool, outcome, latencyMs, shared } = call;
      return [{ tool, outcome, latencyMs, shared }];
    }),
  };
}

/** Entropy score of the first tokens after the prompt, in the form of the tree's rule. */
async function sampleRoot(task: Task, context: GrowContext): Promise<{ entropy: number; tokens: number }> {
  const { config, policy } = context;
  const { id, seed, form, stretches, growth } = begin(task, context);
  const sample = await fromPolicy(() =>
    policy.sample({
      path: stretches[0]!,
      key: `${id}/root`,
      maxTokens: Math.min(config.algorithm.probeTokens, config.rollout.maxResponseTokens),
      temperature: config.rollout.temperature,
      stream: streamKey(seed, 'sample', id, 'root', 0),
      streamOffset: 0,
      topLogProbs: growth.rules.rule === 'upstream' ? TOP_LOG_PROBS : 0,
    }),
  );
  const scored = sample.topLogProbs ? sample.topLogProbs.map(entropyOf) : sample.entropies;
  return { entropy: entropyScore(scored, form), tokens: sample.ids.length };
}

/** Mean score of the turns that count; undefined where there is none. */
function meanTurn({ segments }: Tree, form: Probe['form']): number | undefined {
  const scores = segments.flatMap(({ entropy, parent }) =>
    entropy !== undefined && (form === 'upstream' || segments[parent]?.kind === 'tool') ? [entropy] : [],
  );
  return scores.length === 0 ? undefined : scores.reduce((sum, score) => sum + score, 0) / scores.length;
}

const sized = (context: GrowContext, initialRollouts: number, groupSize: number): GrowContext => ({
  ...context,
  config: { ...context.config, rollout: { ...context.config.rollout, initialRollouts, groupSize } },
});
