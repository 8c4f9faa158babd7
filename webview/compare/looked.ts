/** How the comparison is looked at, and as the window keeps it. Knows nothing of what is drawn. */
import { SCALES, type Scale } from '../dashboard/axis.ts';

export interface Looked {
  scale: Scale;
  /** Weight of what came before, in [0, 1). */
  smoothing: number;
  /** [chart] keys. */
  metrics: string[];
  /** Reward to reach; absent: what the first runs ended with. */
  target?: number;
}

const METRICS = ['reward.mean', 'evaluated.accuracy', 'entropy.all', 'toolCalls.total'];

/** What was kept, as far as it makes sense. */
export function lookedOf(kept: unknown): Looked {
  const found = (kept as { looked?: Partial<Looked> } | undefined)?.looked ?? {};
  const { scale, smoothing, metrics, target } = found;
  const isScale = typeof scale === 'string' && Object.hasOwn(SCALES, scale);
  const areMetrics =
    Array.isArray(metrics) &&
    metrics.length === METRICS.length &&
    metrics.every(key => typeof key === 'string');
  return {
    scale: isScale ? scale : 'step',
    smoothing: typeof smoothing === 'number' && smoothing >= 0 && smoothing < 1 ? smoothing : 0,
    metrics: areMetrics ? metrics : METRICS,
    ...(typeof target === 'number' && Number.isFinite(target) && { target }),
  };
}
