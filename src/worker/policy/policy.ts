/** What the loop asks of whatever holds the weights. Knows nothing of ONNX, GPUs or servers. */
import type { Batch, PackedTree } from '../../core/batch.ts';
import type { ObjectiveSettings, ObjectiveReport } from '../../core/objective.ts';
import type { StreamKey } from '../../core/random.ts';
import type { Alternatives } from '../../core/types.ts';

/** A stretch of tokens on a path. The key names it for caches: equal keys mean equal tokens with equal ancestors. */
export interface Stretch {
  key: string;
  ids: Int32Array;
}

/** Draws one continuation of a path. */
export interface SampleRequest {
  /** Root to leaf; at least one token in all. Caches are hints: a missing one is computed again. */
  path: readonly Stretch[];
  /** Key under which the continuation may be found again as a stretch of later paths (it is cached under it). */
  key: string;
  maxTokens: number;
  /** 0 is greedy. */
  temperature: number;
  /** Token n of the continuation uses uniform(stream, n + streamOffset), so a preview and its rest are one draw. */
  stream: StreamKey;
  streamOffset: number;
  /** Number of largest log-probabilities wanted per token (rule `upstream`); 0 for none. */
  topLogProbs: number;
  /** Number of likeliest tokens wanted beside each token, for the record; none where absent. */
  alternatives?: number;
}

export interface Sample {
  /** [token] the stop's and the end-of-sequence's tokens included. */
  ids: Int32Array;
  /** [token] at the request's temperature (at 1 where it is greedy). */
  logProbs: Float32Array;
  /** [token] nats, over the full vocabulary. */
  entropies: Float32Array;
  /** [token][k] largest log-probabilities, the drawn token's included once; only where asked for. */
  topLogProbs?: Float32Array[];
  /** As many as were asked for, at most the vocabulary; only where asked for. */
  alternatives?: Alternatives;
  /** `stop`: the text now contains a stop string, `end`: an end-of-sequence id was drawn, `length`: maxTokens drawn. */
  finish: 'stop' | 'end' | 'length';
  /** The stop string found; only with finish `stop`. */
  stop?: string;
}

/** Log-probabilities and entropies of a packed tree's own tokens given their prefixes; NaN for the first token. */
export interface Scores {
  /** [token] */
  logProbs: Float32Array;
  /** [token] nats. */
  entropies: Float32Array;
}

export interface StepReport {
  /** Global norm of the accumulated gradient before clipping. */
  gradientNorm: number;
  /** False where the gradient was not finite: then nothing was changed. */
  applied: boolean;
  /** Bytes in memory of the process that computed the step; absent where the engine cannot tell. */
  memory?: number;
}

export interface StepSettings {
  learningRate: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  /** Global norm that gradients are clipped to; 0 for no clipping. */
  maxGradientNorm: number;
}

/** What a policy says about itself when it opens. */
export interface PolicyInfo {
  architecture: string;
  parameters: number;
  vocabularySize: number;
  contextLength: number;
  device: string;
  /** Hex SHA-256 of the weights file that was opened. */
  weightsHash: string;
}

export interface OpenSettings {
  /** Folder in Hugging Face layout: config.json and model.safetensors. */
  folder: string;
  device: 'cpu' | 'webgpu';
  threads: number;
  /** Largest number of tokens of one path, prompt included. */
  maxPathTokens: number;
  /** [id] bytes of every token, for stop strings; see core/pieces. */
  pieces: { offsets: Uint32Array; bytes: Uint8Array };
  stops: readonly string[];
  endIds: readonly number[];
  /** False for evaluation: no gradient or optimiser memory. */
  trainable: boolean;
  /** Largest memory in bytes that training may use; activations are recomputed only above it. */
  memoryLimitBytes: number;
}

/** All verbs may be asked concurrently; `sample` is one promise per path and is batched with what is pending. */
export interface Policy {
  open(settings: OpenSettings): Promise<PolicyInfo>;
  sample(request: SampleRequest): Promise<Sample>;
  /** Forgets cached stretches whose key starts with the prefix. */
  forget(keyPrefix: string): Promise<void>;
  score(trees: readonly PackedTree[], temperature: number): Promise<Scores[]>;
  /** Adds the batch's gradient; the scores are of the weights before any later step. */
  accumulate(
    batch: Batch,
    objective: ObjectiveSettings,
  ): Promise<{ report: ObjectiveReport; scores: Scores[] }>;
  /** AdamW on what was accumulated; forgets the gradient and all cached stretches. */
  step(settings: StepSettings): Promise<StepReport>;
  /** Writes config.json and model.safetensors, and, where asked, optimizer.safetensors, into an existing folder. */
  save(folder: string, withOptimizer: boolean): Promise<void>;
  /** Reads what save wrote, the optimiser's state included where it is there. */
  load(folder: string): Promise<void>;
  /** Refuses what is still being sampled or scored; nobody needs to wait for it first. */
  close(): Promise<void>;
}
