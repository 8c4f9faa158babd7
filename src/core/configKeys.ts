/** Every key of a run's configuration: its type, range, default and meaning, in one table. Knows nothing of how a config is read. */
import { ALGORITHM_KEYS, PRESET_MEANINGS, type AlgorithmConfig, type Preset } from './configAlgorithm.ts';
import { DATA_KEYS, RECORD_KEYS, type DataConfig, type RecordConfig } from './configData.ts';
import { amount, choice, count, flag, MILLION, path, ROLLOUT } from './configSpecs.ts';
import type { AnyKey, KeyOf } from './configSpecs.ts';
import { REWARD_KEYS, TOOL_KEYS, type RewardConfig, type ToolsConfig } from './configTools.ts';
import type { Rule } from './types.ts';

export type { Preset } from './configAlgorithm.ts';
export type { AnyKey } from './configSpecs.ts';

/** A config as resolved: every key present. Paths are relative to the config file until src/run resolves them. */
export interface Config {
  preset: Preset;
  /** Run folders are called `<name>-<n>`. */
  name: string;
  seed: number;
  steps: number;
  device: 'auto' | 'cpu' | 'webgpu';
  /** Threads of the engine; 0 for as many as the machine has cores. */
  threads: number;
  /** Memory in MB that training may use; 0 for three quarters of the machine's. */
  memoryMB: number;
  /** Folder that run folders are made in. */
  runs: string;
  policy: {
    /** Folder in Hugging Face layout. */
    path: string;
  };
  data: DataConfig;
  rollout: {
    rule: Rule;
    tasksPerStep: number;
    /** Paper M. */
    groupSize: number;
    /** Paper N. */
    initialRollouts: number;
    /** One source may spawn at most beamSize − 1 children at one branching question (paper Z). */
    beamSize: number;
    /** Paper α. */
    branchProbability: number;
    /** Paper β. */
    entropyWeight: number;
    /** Paper k. */
    entropyTokens: number;
    gate: 'bernoulli' | 'threshold';
    /** Paper τ; only used by the threshold gate. */
    threshold: number;
    temperature: number;
    maxPromptTokens: number;
    /** Model and tool tokens after the prompt. */
    maxResponseTokens: number;
    /** Model tokens of one turn; 0 for all that are left. */
    maxTurnTokens: number;
    limitAction: 'append-end-trained' | 'append-end-masked' | 'inject-limit-message';
  };
  tools: ToolsConfig;
  reward: RewardConfig;
  algorithm: AlgorithmConfig;
  optimizer: {
    learningRate: number;
    beta1: number;
    beta2: number;
    epsilon: number;
    weightDecay: number;
    maxGradientNorm: number;
    /** Steps over which the learning rate rises linearly to its value. */
    warmupSteps: number;
  };
  evaluation: {
    /** Held-out tasks, the first n; 0 for none. */
    tasks: number;
    samples: number;
    greedy: boolean;
    /** Also before the first step; and every n steps (0 for never), and after the last. */
    before: boolean;
    every: number;
    after: boolean;
  };
  checkpoint: {
    /** Save every n steps, and always at the end, at a stop and at a pause. */
    every: number;
    /** Keep the last n with optimiser state; 0 for all. */
    keep: number;
    /** Of older ones keep the weights of every n-th; 0 for none. */
    keepEvery: number;
  };
  record: RecordConfig;
}

/** The dotted names of a config's values: `rollout.groupSize`. A list, or a table of names that users choose, is one value. */
type Leaf<T, P extends string = ''> = {
  [K in keyof T & string]: T[K] extends object
    ? T[K] extends readonly unknown[]
      ? `${P}${K}`
      : string extends keyof T[K]
        ? `${P}${K}`
        : Leaf<T[K], `${P}${K}.`>
    : `${P}${K}`;
}[keyof T & string];
type ValueAt<T, K extends string> = K extends `${infer Head}.${infer Rest}`
  ? Head extends keyof T
    ? ValueAt<T[Head], Rest>
    : never
  : K extends keyof T
    ? T[K]
    : never;

export type ConfigKey = Leaf<Config>;
export type ConfigValue<K extends ConfigKey> = ValueAt<Config, K>;

/** Complete by its type. The defaults are those of preset `arpo`: the paper's settings for reasoning tasks. */
export const KEYS: { readonly [K in ConfigKey]: KeyOf<ConfigValue<K>> } = {
  preset: choice('arpo', 'Named starting point; every other key overrides it.', PRESET_MEANINGS),
  name: {
    kind: 'text',
    default: 'run',
    description:
      'Run folders are called NAME-1, NAME-2 and so on; where absent, NAME of NAME.branchpoint.json.',
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
    patternMeaning: '1 to 64 letters, digits, dots, hyphens and underscores, the first a letter or digit',
  },
  seed: count(1, 0, 2 ** 31 - 1, 'Key of all random numbers: the same seed gives the same run.'),
  steps: count(100, 1, MILLION, 'Training steps of the run.'),
  device: choice('auto', 'What the embedded engine computes on.', {
    auto: 'The fastest that works on this machine.',
    cpu: 'The processor.',
    webgpu: 'The graphics processor; refused in this version.',
  }),
  threads: count(0, 0, 1024, 'Threads of the engine; 0 for as many as the machine has cores.'),
  memoryMB: count(
    0,
    0,
    16 * MILLION,
    'Memory that training may use, in MB; 0 for three quarters of the machine’s.',
  ),
  runs: { ...path('runs', 'Folder that run folders are made in.'), isRequired: true },
  'policy.path': {
    ...path(
      '',
      'Folder of the policy to train, in Hugging Face layout (config.json, tokenizer.json, model.safetensors).',
    ),
    isRequired: true,
    example: 'policy',
  },
  ...DATA_KEYS,
  'rollout.rule': {
    ...choice('paper', 'Which reading of ARPO’s branching decides.', {
      paper:
        'As published: a window after the tool result is sampled and scored; branches inherit their baseline.',
      upstream:
        'As the released code runs: the turn before the tool call is scored, from the ten largest log-probabilities.',
    }),
    section: ROLLOUT,
  },
  'rollout.tasksPerStep': count(128, 1, 65_536, 'Tasks, and so groups of trajectories, of one step.'),
  'rollout.groupSize': {
    ...count(16, 2, 4096, 'Trajectories of one task; their rewards are compared with each other.'),
    symbol: 'M',
    section: ROLLOUT,
  },
  'rollout.initialRollouts': {
    ...count(
      8,
      1,
      4096,
      'Trajectories that start from the prompt; the others come from branches, or fill the group up. Not used where algorithm.budget is not `fixed`.',
    ),
    symbol: 'N',
    section: ROLLOUT,
  },
  'rollout.beamSize': {
    ...count(2, 1, 4096, 'At one branching question a trajectory may get at most beamSize − 1 siblings.'),
    symbol: 'Z',
    section: ROLLOUT,
  },
  'rollout.branchProbability': {
    ...amount(0.5, 0, 1, 'Probability of branching after a tool result whose entropy equals the baseline.'),
    symbol: 'α',
    section: ROLLOUT,
  },
  'rollout.entropyWeight': {
    ...amount(0.2, 0, 100, 'Probability added per unit of entropy above the baseline.'),
    symbol: 'β',
    section: ROLLOUT,
  },
  'rollout.entropyTokens': {
    ...count(20, 1, 1024, 'Tokens at the start of a turn that its entropy is measured on.'),
    symbol: 'k',
    section: ROLLOUT,
  },
  'rollout.gate': {
    ...choice('bernoulli', 'How a branching probability becomes a decision.', {
      bernoulli: 'A seeded coin with that probability.',
      threshold: 'Branch where the probability is above `threshold`; allowed only under rule `paper`.',
    }),
    section: ROLLOUT,
  },
  'rollout.threshold': {
    ...amount(
      0.5,
      0,
      1,
      'Probability above which the threshold gate branches; must be given with that gate.',
    ),
    symbol: 'τ',
    section: ROLLOUT,
  },
  'rollout.temperature': {
    ...amount(
      1,
      0,
      10,
      'Sampling temperature of training; log-probabilities are taken at the same temperature.',
    ),
    aboveMinimum: true,
  },
  'rollout.maxPromptTokens': count(
    1536,
    1,
    MILLION,
    'Tokens of a prompt; `data.longPrompts` says what becomes of longer ones.',
  ),
  'rollout.maxResponseTokens': count(
    4096,
    1,
    MILLION,
    'Tokens after the prompt, those of tool results included.',
  ),
  'rollout.maxTurnTokens': count(
    0,
    0,
    MILLION,
    'Tokens that the policy may write in one turn; 0 for all that are left.',
  ),
  'rollout.limitAction': choice(
    'append-end-masked',
    'What is appended to a trajectory that asks for a call beyond a limit.',
    {
      'append-end-masked': 'An end of sequence that is not trained; rule `paper`.',
      'append-end-trained': 'An end of sequence that is trained like the policy’s own; rule `upstream`.',
      'inject-limit-message':
        'A result that says that the tool may not be called again, and the trajectory goes on; both rules.',
    },
  ),
  ...TOOL_KEYS,
  ...REWARD_KEYS,
  ...ALGORITHM_KEYS,
  'optimizer.learningRate': { ...amount(1e-6, 0, 1, 'Learning rate of AdamW.'), aboveMinimum: true },
  'optimizer.beta1': amount(0.9, 0, 0.9999, 'Decay of AdamW’s mean gradient.'),
  'optimizer.beta2': amount(0.999, 0, 0.999999, 'Decay of AdamW’s mean squared gradient.'),
  'optimizer.epsilon': { ...amount(1e-8, 0, 1, 'Added to AdamW’s denominator.'), aboveMinimum: true },
  'optimizer.weightDecay': amount(0.01, 0, 1, 'Decoupled weight decay of AdamW.'),
  'optimizer.maxGradientNorm': {
    ...amount(1, 0, 1e9, 'Global norm that gradients are clipped to.'),
    aboveMinimum: true,
  },
  'optimizer.warmupSteps': count(0, 0, MILLION, 'Steps over which the learning rate rises to its value.'),
  'evaluation.tasks': count(
    200,
    0,
    MILLION,
    'Held-out tasks of an evaluation, the first n; 0 for no evaluation.',
  ),
  'evaluation.samples': count(1, 1, 1024, 'Sampled trajectories of one held-out task.'),
  'evaluation.greedy': flag(true, 'Whether a greedy trajectory of each held-out task is scored beside them.'),
  'evaluation.before': flag(true, 'Evaluate before the first step.'),
  'evaluation.every': count(0, 0, MILLION, 'Evaluate after every n-th step; 0 for never.'),
  'evaluation.after': flag(true, 'Evaluate after the last step.'),
  'checkpoint.every': count(
    1,
    1,
    MILLION,
    'Save after every n-th step; the last step, a stop and a pause are always saved.',
  ),
  'checkpoint.keep': count(
    2,
    0,
    MILLION,
    'Checkpoints that keep their optimiser state, the newest n; 0 for all.',
  ),
  'checkpoint.keepEvery': count(
    1,
    0,
    MILLION,
    'Of checkpoints that lost their optimiser state keep the weights of every n-th, and of those that an evaluation is due for; 0 for none but these.',
  ),
  ...RECORD_KEYS,
};

/** What a preset changes of the defaults. */
type Changes = { readonly [K in ConfigKey]?: ConfigValue<K> };

/** All trajectories start from the prompt. */
const PLAIN: Changes = { 'rollout.initialRollouts': 16 };

/** AEPO's objective, the same under both rules. */
const BALANCED: Changes = {
  'algorithm.budget': 'upstream',
  'algorithm.clip': 'gradient-preserving-upper',
  'algorithm.entropyAdvantage': 'upstream',
};

/** The presets as points on the axes: each only sets keys. */
export const PRESETS: { readonly [P in Preset]: Changes } = {
  arpo: {},
  'arpo-upstream': { 'rollout.rule': 'upstream', 'rollout.limitAction': 'append-end-trained' },
  aepo: { ...BALANCED, 'algorithm.branchPenalty': 'paper' },
  'aepo-upstream': {
    ...BALANCED,
    'rollout.rule': 'upstream',
    'rollout.limitAction': 'append-end-trained',
    'algorithm.branchPenalty': 'upstream',
  },
  grpo: PLAIN,
  dapo: {
    ...PLAIN,
    'algorithm.clipHigh': 0.28,
    'algorithm.filter': 'mixed',
    'algorithm.overlongShare': 0.2,
  },
  'reinforce++': { ...PLAIN, 'algorithm.baseline': 'batch-mean', 'algorithm.scale': 'batch-std' },
  'reinforce++-baseline': { ...PLAIN, 'algorithm.scale': 'batch-std' },
  rloo: { ...PLAIN, 'algorithm.baseline': 'leave-one-out', 'algorithm.scale': 'none' },
  gppo: { ...PLAIN, 'algorithm.clip': 'gradient-preserving' },
  cispo: { ...PLAIN, 'algorithm.clip': 'cispo', 'algorithm.clipLow': 1, 'algorithm.clipHigh': 0.28 },
  gspo: {
    ...PLAIN,
    'algorithm.ratio': 'sequence',
    'algorithm.clipLow': 3e-4,
    'algorithm.clipHigh': 4e-4,
    'algorithm.dualClip': 0,
    'algorithm.aggregation': 'seq-mean-token-mean',
  },
  gigpo: { ...PLAIN, 'algorithm.credit': 'step' },
  'dr-grpo': {
    ...PLAIN,
    'algorithm.scale': 'none',
    'algorithm.aggregation': 'seq-mean-token-sum-norm',
  },
};

/** Whether a preset's trajectories may leave each other, or all start from the prompt. */
export const branches = (preset: Preset): boolean => PRESETS[preset]['rollout.initialRollouts'] === undefined;

export const keyNames = Object.keys(KEYS) as ConfigKey[];
export const keyOf = (name: ConfigKey): AnyKey => KEYS[name];

/** A value to begin with, where the key has no default of use. */
export function exampleOf(name: ConfigKey): string {
  const spec = keyOf(name);
  return spec.kind === 'text' ? (spec.example ?? spec.default) : '';
}

/** Whether a key has no default and must be given. */
export function isRequired(name: ConfigKey): boolean {
  const spec = keyOf(name);
  return spec.kind === 'text' && spec.isRequired === true && spec.default === '';
}
