/** Angles of the rotary embedding, by position. Knows nothing of heads, rows or of who turns what by them. */
import type { ModelShape } from '../../../core/modelShape.ts';

/** [position][headDim / 2] */
export interface Angles {
  cos: Float32Array;
  sin: Float32Array;
}

/** cos and sin of position · θ^(−2i / headDim), i < headDim / 2, of positions below the given number. */
export function rotaryAngles({ headDim, ropeTheta }: ModelShape, positions: number): Angles {
  const half = headDim / 2;
  const frequencies = Float64Array.from({ length: half }, (_, i) => ropeTheta ** (-i / half));
  const cos = new Float32Array(positions * half);
  const sin = new Float32Array(positions * half);
  for (let at = 0; at < cos.length; at++) {
    const angle = Math.floor(at / half) * frequencies[at % half]!;
    cos[at] = Math.cos(angle);
    sin[at] = Math.sin(angle);
  }
  return { cos, sin };
}
