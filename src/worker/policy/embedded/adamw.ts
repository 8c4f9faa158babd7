/** AdamW with decoupled weight decay and clipping by global norm, on plain arrays. Knows nothing of models or graphs. */
import type { StepSettings } from '../policy.ts';

/** Running means of the gradient and of its square, per tensor, and the number of steps taken. */
export interface OptimizerState {
  steps: number;
  first: Map<string, Float32Array>;
  second: Map<string, Float32Array>;
}

export const emptyState = (): OptimizerState => ({ steps: 0, first: new Map(), second: new Map() });

/** Norm over all gradients together; not finite where any entry is not. */
export function globalNorm(gradients: Iterable<Float32Array>): number {
  let sum = 0;
  for (const gradient of gradients)
    for (let i = 0; i < gradient.length; i++) sum += gradient[i]! * gradient[i]!;
  return Math.sqrt(sum);
}

/** Factor that brings gradients of this norm to at most `limit` (0 for no limit); as torch's clip_grad_norm_. */
export const clipFactor = (norm: number, limit: number): number =>
  limit > 0 ? Math.min(1, limit / (norm + 1e-6)) : 1;

function momentsOf(moments: Map<string, Float32Array>, name: string, length: number): Float32Array {
  const known = moments.get(name);
  if (known) return known;
  const made = new Float32Array(length);
  moments.set(name, made);
  return made;
}

interface Update {
  name: string;
  weight: Float32Array;
  gradient: Float32Array;
  /** Matrices decay; norms and biases do not. */
  decays: boolean;
}

/**
 * One step of Loshchilov and Hutter's AdamW on one tensor, in place, with `state.steps` already counting this step:
 * m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², w ← w − lr·(λw + m̂ / (√v̂ + ε)).
 */
export function updateTensor(
  state: OptimizerState,
  { name, weight, gradient, decays }: Update,
  settings: StepSettings,
  factor: number,
): void {
  const { learningRate, beta1, beta2, epsilon } = settings;
  const m = momentsOf(state.first, name, weight.length);
  const v = momentsOf(state.second, name, weight.length);
  const shrink = decays ? 1 - learningRate * settings.weightDecay : 1;
  const rate = learningRate / (1 - beta1 ** state.steps);
  const correction = 1 / Math.sqrt(1 - beta2 ** state.steps);
  for (let i = 0; i < weight.length; i++) {
    const g = gradient[i]! * factor;
    const mean = beta1 * m[i]! + (1 - beta1) * g;
    const square = beta2 * v[i]! + (1 - beta2) * g * g;
    m[i] = mean;
    v[i] = square;
    weight[i] = weight[i]! * shrink - (rate * mean) / (Math.sqrt(square) * correction + epsilon);
  }
}
