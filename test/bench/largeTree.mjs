/** A judged rollout tree of any size, from a seed. Knows nothing of files. */

const WORDS =
  'I look up where it was and compute what is left of it, then answer the question in one line'.split(' ');

/** A tree of `nodes` segments: trajectories of a few turns and calls, most of them branches, some far down. */
export function largeTree(nodes, seed = 1) {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const segments = [];
  const paths = [];
  const decisions = [];
  let start = 0;
  const add = segment => {
    segments.push({ start, ...segment });
    start += segment.count;
    return segments.length - 1;
  };
  add({ parent: -1, kind: 'prompt', count: 40, text: 'Where was it, and what is left of it?', turn: 0 });
  const total = Math.ceil(nodes / 8);
  while (segments.length < nodes) {
    const made = paths.length;
    const from = made > 16 && random() < 0.9 ? leave(paths, segments, random) : undefined;
    const path = {
      leaf: 0,
      origin: from ? 'branch' : 'initial',
      ...(from && { from }),
      calls: 0,
      stop: 'answer',
    };
    if (from) decisions.push(decided(from, { random, total, made, child: made }));
    path.leaf = grow({ at: from?.segment ?? 0, add, segments, decisions, random, made, total });
    path.reward = judged(random());
    paths.push(path);
  }
  const soft = paths.map(({ reward }) => reward.total - 0.4);
  return {
    id: '7.0',
    step: 7,
    task: { id: 'long', question: 'Where was it, and what is left of it?', references: ['3'], ability: 'qa' },
    rule: 'paper',
    initial: paths.filter(({ origin }) => origin === 'initial').length,
    total: paths.length,
    segments,
    paths,
    decisions,
    credit: { soft, hard: hardOf(segments, paths, soft), used: 'soft' },
  };
}

/** A place after a tool result of an earlier trajectory. */
function leave(paths, segments, random) {
  const path = Math.floor(random() * paths.length);
  const tools = [];
  for (let at = paths[path].leaf; at >= 0; at = segments[at].parent)
    if (segments[at].kind === 'tool') tools.push(at);
  if (tools.length === 0) return undefined;
  return { path, segment: tools[Math.floor(random() * tools.length)] };
}

function grow({ at, add, segments, decisions, random, made, total }) {
  const text = () => WORDS.slice(Math.floor(random() * 8)).join(' ');
  let turn = segments[at].turn + (segments[at].kind === 'tool' ? 1 : 0);
  for (let calls = Math.floor(random() * 6); calls > 0; calls--, turn++) {
    const parent = add({
      parent: at,
      kind: 'model',
      count: 10 + Math.floor(random() * 60),
      text: text(),
      turn,
      stop: 'call',
      entropy: random(),
    });
    const call = {
      tool: 'search',
      argument: 'it',
      outcome: 'ok',
      latencyMs: 200 * random() ** 4,
      shared: false,
    };
    at = add({ parent, kind: 'tool', count: 80, text: ` <result>\n${text()}\n</result>`, turn, call });
    if (random() < 0.5) decisions.push(decided({ path: made, segment: at }, { random, total, made }));
  }
  const answer = { kind: 'model', count: 12, text: text(), turn, stop: 'answer', entropy: random() / 3 };
  return add({ parent: at, ...answer });
}

function decided({ path, segment }, { random, total, made, child }) {
  const [initialEntropy, entropy] = [0.2, 0.2 + random()];
  const probability = Math.min(1, 0.2 + 0.4 * (entropy - initialEntropy));
  return {
    segment,
    path,
    round: 1,
    rule: 'paper',
    gate: 'bernoulli',
    initialEntropy,
    entropy,
    entropyDelta: entropy - initialEntropy,
    windowTokens: 20,
    branchProbability: 0.2,
    entropyWeight: 0.4,
    probability,
    draw: child === undefined ? Math.min(0.99, probability + 0.1) : probability / 2,
    made,
    total,
    outcome: child === undefined ? 'refuse' : 'branch',
    ...(child !== undefined && { child }),
  };
}

const judged = share => ({
  total: share < 0.5 ? 0 : share < 0.6 ? -1 : 1,
  parts: { accuracy: share < 0.6 ? 0 : 1 },
  correct: share >= 0.6,
  reason: share < 0.6 ? 'The answer is another.' : 'The answer is right.',
});

function hardOf(segments, paths, soft) {
  const sums = segments.map(() => [0, 0]);
  paths.forEach(({ leaf }, path) => {
    for (let at = leaf; at >= 0; at = segments[at].parent) {
      sums[at][0] += soft[path];
      sums[at][1]++;
    }
  });
  return segments.map(({ kind }, at) => (kind === 'model' ? sums[at][0] / sums[at][1] : null));
}
