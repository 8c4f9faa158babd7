/** Grows a few trees with the real policy and tools, and learns from them at rate 0. Knows nothing of how a run goes on. */
import { creditAll } from '../../core/advantage.ts';
import { collate, pack, packedOrder } from '../../core/batch.ts';
import { checkSettings, checkTree, CHECKS } from '../../core/checks.ts';
import { ok, upTo, warning, wrong, type CheckResult } from '../../core/checkup.ts';
import type { Config } from '../../core/config.ts';
import { plain } from '../../core/figures.ts';
import { isTrained, responseTokens, type Grown } from '../../core/tree.ts';
import type { Task } from '../../core/types.ts';
import type { RunTokenizer } from '../equipment.ts';
import { rewardSettings } from '../gather.ts';
import { judgeAll } from '../judges.ts';
import { collateSettings, creditSettings, objectiveSettings, stepSettings } from '../learn.ts';
import { brokenReward } from './reward.ts';
import type { OwnReward } from '../own/reward.ts';
import type { Policy, Scores } from '../policy/policy.ts';
import { growGroup } from '../preMonitoring.ts';
import type { ToolPool } from '../tools/tool.ts';

export interface Trial {
  config: Config;
  tasks: readonly Task[];
  policy: Policy;
  tokenizer: RunTokenizer;
  tools: ToolPool;
  /** The user's own reward; `broken` where it does not work, so that the paper's stands in for it. */
  ownReward?: OwnReward | 'broken' | undefined;
}

/** Trajectories of a task that is tried: enough to branch, few enough to wait for. */
const TRIED_GROUP = 4;
/** |Δ log p| of one token: what rounding explains, and what no rounding does. */
const DOUBTFUL = 1e-3;
const IMPOSSIBLE = 0.1;

export async function checkRollout(trial: Trial): Promise<CheckResult[]> {
  const config = smaller(trial.config);
  const grown: Grown[] = [];
  for (const [index, task] of trial.tasks.entries())
    grown.push(await growGroup(task, { ...trial, config, step: 0, index, tell: () => undefined }));
  const judged = await judgeTrees(grown, { ...trial, config });
  const trees = grown.map(({ tree }) => tree);
  creditAll(trees, creditSettings(config)).forEach((credit, i) => (trees[i]!.credit = credit));
  return [
    ...judged,
    ...checkTrees(grown, config),
    ...masks(grown, config),
    ...truncation(grown, config),
    ...(await parity(trial, config, grown)),
  ];
}

/** A smaller group, split as the config's is: where all trajectories start from the prompt, or but one may branch, so it is here. */
function smaller(config: Config): Config {
  const { groupSize: whole, initialRollouts: initial } = config.rollout;
  const groupSize = Math.min(TRIED_GROUP, whole);
  const share = Math.round((groupSize * initial) / whole);
  const initialRollouts = initial < whole ? Math.max(1, Math.min(groupSize - 1, share)) : groupSize;
  return { ...config, rollout: { ...config.rollout, groupSize, initialRollouts } };
}

async function judgeTrees(
  grown: readonly Grown[],
  { config, tools, ownReward }: Trial,
): Promise<CheckResult[]> {
  const own = ownReward === 'broken' ? undefined : ownReward;
  const rewards = { ...rewardSettings(config), tools: tools.tags };
  const failures = (await Promise.all(grown.map(({ tree }) => judgeAll(tree, rewards, own)))).flat();
  // That its own reward is broken has been said, and what another would give says nothing of this config.
  if (ownReward === 'broken') return [];
  const [failure] = failures;
  if (failure) return [brokenReward(failure)];
  const paths = grown.flatMap(({ tree }) => tree.paths);
  const right = paths.filter(path => path.reward?.correct).length;
  const mean = paths.reduce((sum, path) => sum + (path.reward?.total ?? 0), 0) / paths.length;
  const sentence = `${paths.length} trajectories were judged: ${right} right, mean reward ${plain(mean, 2)}.`;
  return [ok('reward', sentence)];
}

function checkTrees(grown: readonly Grown[], config: Config): CheckResult[] {
  const settings = checkSettings(config);
  const findings = grown.flatMap(({ tree, columns }) => checkTree({ tree, columns, settings }));
  if (findings.length === 0)
    return [
      ok(
        'rollout.trees',
        `${grown.length} trees keep all ${Object.keys(CHECKS).length} claims; ${originsOf(grown)}.`,
      ),
    ];
  return upTo(
    10,
    findings.map(({ id, message }) => wrong(`rollout.${id}`, message)),
  );
}

function originsOf(grown: readonly Grown[]): string {
  const paths = grown.flatMap(({ tree }) => tree.paths);
  const branched = paths.filter(({ origin }) => origin === 'branch').length;
  return branched === 0
    ? `all ${paths.length} trajectories start from the prompt`
    : `${branched} of ${paths.length} trajectories branched, the others start from the prompt`;
}

function masks(grown: readonly Grown[], { rollout }: Config): CheckResult[] {
  const trainForced = rollout.limitAction === 'append-end-trained';
  const count = { trained: 0, prompt: 0, model: 0, tool: 0, forced: 0 };
  for (const { tree } of grown)
    for (const { kind, count: tokens } of tree.segments) {
      count[kind] += tokens;
      if (isTrained(kind, trainForced)) count.trained += tokens;
    }
  const sentence = `${count.trained} tokens would be trained: ${count.model} of the policy and ${trainForced ? count.forced : 0} appended; ${count.prompt} of prompts and ${count.tool} of tools would not.`;
  return [count.trained > 0 ? ok('masks', sentence) : wrong('masks', sentence)];
}

/** How many trajectories ran out of tokens. */
function truncation(grown: readonly Grown[], { rollout }: Config): CheckResult[] {
  const paths = grown.flatMap(({ tree }) =>
    tree.paths.map(({ stop }, path) => ({ stop, tokens: responseTokens(tree, path) })),
  );
  const cut = paths.filter(({ stop }) => stop === 'length' || stop === 'turn-length').length;
  const longest = Math.max(...paths.map(({ tokens }) => tokens));
  const mean = paths.reduce((sum, { tokens }) => sum + tokens, 0) / paths.length;
  const sentence = `${cut} of ${paths.length} trajectories ran out of tokens; responses have ${mean.toFixed(0)} tokens in the mean and ${longest} at most, of ${rollout.maxResponseTokens}.`;
  if (cut <= paths.length / 4) return [ok('truncation', sentence)];
  return [
    warning('truncation', sentence, {
      key: rollout.maxTurnTokens > 0 ? 'rollout.maxTurnTokens' : 'rollout.maxResponseTokens',
      fix: 'Allow more tokens, or fine-tune the policy to answer more briefly; trajectories that are cut earn nothing.',
    }),
  ];
}

/** Largest and mean |sampler − trainer| log-probability after an update with learning rate 0, and whether that changed anything. */
async function parity({ policy }: Trial, config: Config, grown: readonly Grown[]): Promise<CheckResult[]> {
  const packed = grown.map(pack);
  const before = await policy.score(packed, config.rollout.temperature);
  const { entropyAdvantage: _, ...settings } = collateSettings(config);
  const batch = collate(grown, { ...settings, regularised: true });
  await policy.accumulate(batch, objectiveSettings(config));
  const { gradientNorm } = await policy.step({ ...stepSettings(config, 1), learningRate: 0 });
  const after = await policy.score(packed, config.rollout.temperature);
  const moved = largest(grown, before, (i, t) => after[t]!.logProbs[i]!);
  const apart = largest(
    grown,
    after,
    (i, t) => grown[t]!.columns.samplerLogProbs[packedOrder(grown[t]!.tree)[i]!]!,
  );
  const results = [
    Number.isFinite(gradientNorm) && moved.max === 0
      ? ok(
          'update',
          `An update at learning rate 0 changes nothing; its gradient has the norm ${gradientNorm.toPrecision(3)}.`,
        )
      : wrong(
          'update',
          `An update at learning rate 0 moved log-probabilities by ${moved.max.toExponential(1)}; its gradient has the norm ${gradientNorm}.`,
        ),
  ];
  const sentence = `Sampler and trainer differ by ${apart.max.toExponential(1)} at most and ${apart.mean.toExponential(1)} in the mean, over the log-probabilities of ${apart.count} tokens.`;
  if (apart.max <= DOUBTFUL) return [...results, ok('parity', sentence)];
  const fix = 'Ratios then are wrong before anything is learned: report it with this config.';
  return [
    ...results,
    apart.max <= IMPOSSIBLE ? warning('parity', sentence, { fix }) : wrong('parity', sentence, { fix }),
  ];
}

/** |scores − other| over tokens that the policy drew. */
function largest(
  grown: readonly Grown[],
  scores: readonly Scores[],
  other: (packedToken: number, tree: number) => number,
): { max: number; mean: number; count: number } {
  let [max, sum, count] = [0, 0, 0];
  grown.forEach(({ tree, columns }, t) => {
    const order = packedOrder(tree);
    order.forEach((token, i) => {
      if (Number.isNaN(columns.samplerLogProbs[token])) return;
      const apart = Math.abs(scores[t]!.logProbs[i]! - other(i, t));
      max = Math.max(max, Number.isNaN(apart) ? Infinity : apart);
      sum += apart;
      count++;
    });
  });
  return { max, mean: sum / Math.max(1, count), count };
}
