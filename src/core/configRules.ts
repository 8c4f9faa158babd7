/** What no two keys of a config may say together. Knows nothing of single values: those are in range when it is asked. */
import { branches, exampleOf, type Config, type ConfigKey } from './configKeys.ts';
import { remove, set } from './configRemedy.ts';
import type { Impossible, Rule } from './configRule.ts';
import { TOOL_RULES } from './configToolRules.ts';

const RULES: readonly Rule[] = [
  ({ device }) =>
    device === 'webgpu'
      ? {
          keys: ['device'],
          message: 'webgpu does not work yet in this version.',
          fix: 'Use "auto" or "cpu".',
          remedies: [set('device', 'auto'), set('device', 'cpu')],
        }
      : undefined,
  ({ preset, rollout: { initialRollouts, groupSize }, algorithm: { budget } }) => {
    if (budget === 'fixed' && initialRollouts > groupSize)
      return {
        keys: ['rollout.initialRollouts', 'rollout.groupSize'],
        message: `${initialRollouts} trajectories from the prompt (initialRollouts) do not fit into a group of ${groupSize} (groupSize).`,
        fix: `Set rollout.initialRollouts to at most ${groupSize}.`,
        remedies: [set('rollout.initialRollouts', groupSize), set('rollout.groupSize', initialRollouts)],
      };
    if (!branches(preset) && budget !== 'fixed')
      return {
        keys: ['algorithm.budget', 'preset'],
        message: `Under preset ${preset} every trajectory starts from the prompt, but budget ${budget} keeps some for branches.`,
        fix: 'Remove algorithm.budget, or use preset "aepo".',
        remedies: [remove('algorithm.budget'), set('preset', 'aepo')],
      };
    if (!branches(preset) && initialRollouts < groupSize)
      return {
        keys: ['rollout.initialRollouts', 'preset'],
        message: `Under preset ${preset} every trajectory starts from the prompt, but initialRollouts is ${initialRollouts} of ${groupSize}.`,
        fix: 'Remove rollout.initialRollouts, or use preset "arpo" to branch.',
        remedies: [remove('rollout.initialRollouts'), set('preset', 'arpo')],
      };
    return undefined;
  },
  ({ rollout: { tasksPerStep }, algorithm: { updatesPerStep } }) =>
    tasksPerStep % updatesPerStep !== 0
      ? {
          keys: ['algorithm.updatesPerStep', 'rollout.tasksPerStep'],
          message: `${tasksPerStep} tasks (tasksPerStep) cannot be split evenly among ${updatesPerStep} updates (updatesPerStep).`,
          fix: `Set algorithm.updatesPerStep to a divisor of ${tasksPerStep}, for example ${largestDivisor(tasksPerStep, updatesPerStep)}.`,
          remedies: [
            set('algorithm.updatesPerStep', largestDivisor(tasksPerStep, updatesPerStep)),
            set('rollout.tasksPerStep', Math.ceil(tasksPerStep / updatesPerStep) * updatesPerStep),
          ],
        }
      : undefined,
  ({ rollout: { gate, rule } }, given) => {
    if (gate === 'threshold' && rule === 'upstream')
      return {
        keys: ['rollout.gate', 'rollout.rule', 'preset'],
        message: 'Rule upstream has no threshold gate: the released code always draws a random number.',
        fix: 'Use gate "bernoulli", or rule "paper".',
        remedies: [set('rollout.gate', 'bernoulli'), set('rollout.rule', 'paper')],
      };
    if (gate === 'threshold' && !given.has('rollout.threshold'))
      return {
        keys: ['rollout.gate'],
        message: 'The threshold gate needs rollout.threshold (paper τ), which is not given.',
        fix: 'Add "threshold": a probability above which a trajectory branches.',
        remedies: [set('rollout.threshold', 0.5), remove('rollout.gate')],
      };
    return undefined;
  },
  ({ rollout: { rule, limitAction } }) => {
    const allowed = rule === 'upstream' ? 'append-end-trained' : 'append-end-masked';
    return limitAction !== allowed && limitAction !== 'inject-limit-message'
      ? {
          keys: ['rollout.limitAction', 'rollout.rule', 'preset'],
          message: `Rule ${rule} ${rule === 'upstream' ? 'always' : 'never'} trains what is appended at the call limit, so limitAction cannot be ${limitAction}.`,
          fix: `Remove rollout.limitAction, which is ${allowed} under this rule, or use "inject-limit-message".`,
          remedies: [remove('rollout.limitAction'), set('rollout.limitAction', 'inject-limit-message')],
        }
      : undefined;
  },
  ({ rollout: { maxTurnTokens, maxResponseTokens } }) =>
    maxTurnTokens > maxResponseTokens
      ? {
          keys: ['rollout.maxTurnTokens', 'rollout.maxResponseTokens'],
          message: `A turn of ${maxTurnTokens} tokens (maxTurnTokens) does not fit into a response of ${maxResponseTokens} (maxResponseTokens).`,
          fix: 'Set rollout.maxTurnTokens to 0 for all that are left, or to less than rollout.maxResponseTokens.',
          remedies: [set('rollout.maxTurnTokens', 0), set('rollout.maxTurnTokens', maxResponseTokens)],
        }
      : undefined,
  ({ algorithm: { ratio, credit } }) =>
    ratio === 'sequence' && credit === 'hard'
      ? {
          keys: ['algorithm.ratio', 'algorithm.credit', 'preset'],
          message:
            'A ratio of whole trajectories (ratio sequence) has no value for a segment that several share (credit hard).',
          fix: 'Use credit "soft", or ratio "token".',
          remedies: [set('algorithm.credit', 'soft'), set('algorithm.ratio', 'token')],
        }
      : undefined,
  ({ algorithm: { baseline, scale } }) =>
    scale === 'group-std' && (baseline === 'none' || baseline === 'batch-mean')
      ? {
          keys: ['algorithm.baseline', 'algorithm.scale', 'preset'],
          message: `Baseline ${baseline} leaves groups without variance an advantage, which cannot be divided by their standard deviation (scale group-std).`,
          fix: 'Use scale "batch-std" or "none" with this baseline.',
          remedies: [set('algorithm.scale', 'batch-std'), set('algorithm.scale', 'none')],
        }
      : undefined,
  ({ algorithm: { credit, scale } }) =>
    credit === 'step' && scale === 'batch-std'
      ? {
          keys: ['algorithm.credit', 'algorithm.scale', 'preset'],
          message: 'Turns are compared within their tree (credit step), which scale batch-std does not see.',
          fix: 'Use scale "group-std" or "none", or credit "soft".',
          remedies: [set('algorithm.scale', 'group-std'), set('algorithm.credit', 'soft')],
        }
      : undefined,
  ({ algorithm: { dualClip } }) =>
    dualClip > 0 && dualClip <= 1
      ? {
          keys: ['algorithm.dualClip'],
          message: `A dual clip of ${dualClip} would bound the loss below its unclipped value.`,
          fix: 'Use a factor above 1 (usual is 3), or 0 for none.',
          remedies: [set('algorithm.dualClip', 3), set('algorithm.dualClip', 0)],
        }
      : undefined,
  ({ data: { heldOut }, evaluation: { tasks } }) =>
    tasks > 0 && heldOut === ''
      ? {
          keys: ['evaluation.tasks', 'data.heldOut'],
          message: `An evaluation of ${tasks} tasks needs held-out tasks, and data.heldOut is empty.`,
          fix: 'Name a file in data.heldOut, or set evaluation.tasks to 0.',
          remedies: [set('evaluation.tasks', 0), set('data.heldOut', exampleOf('data.heldOut'))],
        }
      : undefined,
  ({ steps, optimizer: { warmupSteps } }) =>
    warmupSteps > steps
      ? {
          keys: ['optimizer.warmupSteps', 'steps'],
          message: `The learning rate would rise over ${warmupSteps} steps (warmupSteps), but the run has only ${steps}.`,
          fix: `Set optimizer.warmupSteps to at most ${steps}.`,
          remedies: [set('optimizer.warmupSteps', steps)],
        }
      : undefined,
];

/** All combinations of the config that cannot be run. `given` holds the keys that the user wrote. */
export const impossible = (config: Config, given: ReadonlyMap<ConfigKey, unknown>): Impossible[] =>
  [...RULES, ...TOOL_RULES].flatMap(rule => rule(config, given) ?? []);

function largestDivisor(of: number, atMost: number): number {
  for (let divisor = Math.min(of, atMost); divisor > 1; divisor--) if (of % divisor === 0) return divisor;
  return 1;
}
