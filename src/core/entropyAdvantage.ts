/** Scales advantages by how uncertain the policy was at a token (AEPO). Knows nothing of trees, rewards or losses. */

/** Tokens in any order. */
export interface TokenEntropies {
  /** [token] nats, over the full vocabulary; read where there are copies. */
  entropies: ArrayLike<number>;
  /** [token] trajectories that train the token, each of which counts once; 0 where none does. */
  copies: ArrayLike<number>;
}

/**
 * [part][token] 1 + a·z of trained tokens, z = (H − mean)/std with mean and sample standard deviation over the copies of all
 * parts' tokens, and 1 of the others; without any deviation z is 0. Below z = −1/a the factor is negative (upstream: the same).
 */
export function entropyFactors(parts: readonly TokenEntropies[], weight: number): Float64Array[] {
  const { mean, std } = statistics(parts);
  return parts.map(({ entropies, copies }) =>
    Float64Array.from({ length: copies.length }, (_, token) =>
      copies[token] ? 1 + (weight * (entropies[token]! - mean)) / std : 1,
    ),
  );
}

function statistics(parts: readonly TokenEntropies[]): { mean: number; std: number } {
  const total = (of: (entropy: number) => number): number => {
    let sum = 0;
    for (const { entropies, copies } of parts)
      for (let token = 0; token < copies.length; token++)
        if (copies[token]) sum += copies[token]! * of(entropies[token]!);
    return sum;
  };
  const count = total(() => 1);
  const mean = count === 0 ? 0 : total(entropy => entropy) / count;
  const squares = total(entropy => (entropy - mean) ** 2);
  // upstream: a deviation of 0 counts as 1.
  return { mean, std: count > 1 && squares > 0 ? Math.sqrt(squares / (count - 1)) : 1 };
}
