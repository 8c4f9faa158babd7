/** A run's configuration: its keys, defaults and presets, and what makes it impossible. Knows nothing of files or editors. */
import type { Rule } from './types.ts';

/** Named points on the axes below; every other key overrides its preset. */
export type Preset = 'arpo' | 'arpo-upstream' | 'grpo';

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
  data: {
    /** Parquet in the verl schema, or JSONL. */
    train: string;
    /** Same; '' for no evaluation. */
    heldOut: string;
    /** Order of training tasks. */
    shuffle: boolean;
  };
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
    limitAction: 'append-end-trained' | 'append-end-masked';
  };
  tools: {
    /** Executed calls per trajectory. */
    callLimit: number;
    timeoutSeconds: number;
    concurrency: number;
    python: { enabled: boolean; sandbox: 'auto' | 'bubblewrap' | 'pyodide'; memoryMB: number };
    /** `corpus` '' for no search tool. */
    search: { corpus: string; results: number; resultCharacters: number };
  };
  reward: {
    accuracy: 'auto' | 'f1' | 'exact' | 'number';
    formatPenalty: number;
    multiToolBonus: number;
  };
  algorithm: {
    credit: 'soft' | 'hard';
    /** Advantage = (R − group mean) / scale. */
    scale: 'group-std' | 'none';
    clipLow: number;
    clipHigh: number;
    /** 0 for none. */
    dualClip: number;
    klWeight: number;
    entropyBonus: number;
    aggregation: 'token-mean' | 'seq-mean-token-sum' | 'seq-mean-token-mean' | 'seq-mean-token-sum-norm';
    /** Optimiser updates per step: the step's tasks are split into as many mini-batches. */
    updatesPerStep: number;
  };
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
  };
}
