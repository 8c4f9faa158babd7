/** Events of a long run with every number measured, from a seed. Knows nothing of trees or files. */

/** `steps` finished steps with an evaluation and a checkpoint every hundred, and one resumption. */
export function longRun(steps, seed = 1) {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const events = [];
  const tell = (step, fact) =>
    events.push({
      seq: events.length,
      at: new Date(1.7e12 + events.length * 2000).toISOString(),
      step,
      ...fact,
    });
  tell(0, {
    type: 'run-started',
    format: { major: 1, minor: 0 },
    run: 'long-1',
    steps,
    tasks: 1000,
    tools: { search: 'BM25 over 4,000 passages', python: 'Pyodide' },
    device: 'cpu',
    parameters: 2_000_000,
    seed,
  });
  for (let step = 1; step <= steps; step++) {
    tell(step, { type: 'step-finished', summary: summary(step / steps, random) });
    if (step % 100 !== 0) continue;
    tell(step, { type: 'checkpoint-saved', folder: `step-${step}`, hash: '0', seconds: 0.1 });
    tell(step, { type: 'evaluated', summary: evaluation(step, step / steps, random) });
    if (step === steps / 2) tell(step, { type: 'resumed', from: `step-${step}` });
  }
  return events;
}

function evaluation(step, done, random) {
  const accuracy = 0.2 + 0.5 * done + 0.02 * random();
  return {
    id: `step-${step}`,
    dataset: 'held-out',
    tasks: 100,
    samples: 2,
    accuracy,
    interval: [accuracy - 0.06, accuracy + 0.06],
    greedyAccuracy: accuracy + 0.03,
    reward: accuracy,
    toolCallsPerTrajectory: 1.4,
    byAbility: {},
    seconds: 4,
  };
}

/** Numbers of a step that is so far done, with noise and a spike now and then. */
function summary(done, random) {
  const noise = scale => scale * (random() - 0.5);
  const mean = 0.2 + 0.6 * done + noise(0.15);
  const spike = random() < 0.001 ? 20 : 1;
  const right = Math.round(2 + 4 * done);
  return {
    tasks: 8,
    trajectories: 64,
    reward: {
      mean,
      std: 0.4,
      p10: mean - 0.3,
      p90: mean + 0.3,
      parts: { format: 0.05, accuracy: mean - 0.15, tools: 0.1 },
    },
    accuracy: mean,
    entropy: {
      all: 0.6 - 0.3 * done + noise(0.1),
      initial: 0.4 + noise(0.1),
      afterTool: 0.8 - 0.2 * done + noise(0.2),
      byTurn: [
        0.4 + noise(0.1),
        0.7 + noise(0.1),
        0.6 + noise(0.1),
        random() < 0.3 ? null : 0.5 + noise(0.1),
      ],
    },
    branches: {
      asked: 40,
      taken: 12 + Math.round(noise(6)),
      refused: 20 + Math.round(noise(6)),
      noBudget: 8,
      filled: 3,
    },
    toolCalls: {
      total: 90,
      byTool: { search: 60, python: 30 },
      errors: Math.round(6 * random()),
      latencyP50Ms: 12 + noise(4),
      latencyP95Ms: (40 + noise(20)) * spike,
      byOutcome: { ok: 86, error: 4 },
      latencyP95MsByTool: { search: 30 + noise(10), python: (60 + noise(10)) * spike },
    },
    groups: { allRight: right, mixed: 7 - right, allWrong: 1, flat: right + 1 },
    tokens: { sampled: 9000 + Math.round(noise(2000)), unique: 14000, expanded: 21000, trained: 8000 },
    responseTokens: { mean: 210 + noise(40), max: 390, p10: 120 + noise(20), p90: 320 + noise(20) },
    turns: { mean: 2.4 + noise(0.5), max: 5 },
    stops: { answer: 58, length: 4, 'call-limit': 2 },
    loss: noise(0.1),
    gradientNorm: (0.8 + noise(0.4)) * spike,
    kl: 0.02 * done + noise(0.002),
    approximateKl: noise(0.001),
    clipFraction: 0.02,
    clipFractions: { high: 0.012 + noise(0.004), low: 0.007 + noise(0.004), dual: 0.001 },
    skippedUpdates: 0,
    mismatch: { mean: 1e-4 + noise(5e-5), max: 0.01, p99: 1e-3, correlation: 0.9999 },
    seconds: { total: 6 + noise(1), rollout: 4 + noise(1), learn: 1.8 },
    memory: { worker: 2.1e8 + noise(1e7), engine: 9e8 + noise(1e7) },
  };
}
