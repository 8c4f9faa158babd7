import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import {
  CHECKS,
  checkIds,
  checkSettings,
  checkTree,
  type Checked,
  type CheckId,
} from '../../src/core/checks.ts';
import { defaults } from '../../src/core/config.ts';
import { below, streamKey } from '../../src/core/random.ts';
import { pathsThrough, segmentsOf } from '../../src/core/tree.ts';
import type { TokenColumns, Tree } from '../../src/core/types.ts';
import { randomTree } from '../fakes/randomTree.ts';

type Subject = Checked & { columns: TokenColumns };

/** A judged and credited tree as the loop leaves it, with what it is held against. */
async function grown(seed: number): Promise<Subject> {
  const { tree, columns, config } = await randomTree(seed);
  // The fake credits trained end-of-sequences by the seed and not by the config.
  return { tree, columns, settings: { ...checkSettings(config), trainForced: seed % 2 === 0 } };
}

const SEEDS = Array.from({ length: 150 }, (_, seed) => seed);

/** One way to break a tree. Returns false where this tree has no place for it. */
interface Mutation {
  name: string;
  found: CheckId;
  /** What the finding is told by, so that none of the same id answers for another. */
  says: RegExp;
  /** `pick(n)` chooses one of n. */
  spoil(subject: Subject, pick: (n: number) => number): boolean;
}

/** Indexes of what fits, one of them chosen and handed on; false where there is none. */
function at<T>(
  items: readonly T[],
  fits: (item: T, index: number) => boolean,
  pick: (n: number) => number,
  spoil: (item: T, index: number) => void,
): boolean {
  const places = items.flatMap((item, index) => (fits(item, index) ? [index] : []));
  if (places.length === 0) return false;
  const index = places[pick(places.length)]!;
  spoil(items[index]!, index);
  return true;
}

const hasChild = (tree: Tree, segment: number): boolean =>
  tree.segments.some(({ parent }) => parent === segment);

const MUTATIONS: readonly Mutation[] = [
  {
    name: 'a parent behind its child',
    found: 'parents',
    says: /is not before it/,
    spoil: ({ tree }, pick) =>
      at(
        tree.segments,
        (_, i) => i > 0,
        pick,
        (segment, i) => (segment.parent = i),
      ),
  },
  {
    name: 'a second prompt',
    found: 'parents',
    says: /only segment 0 is the prompt/,
    spoil: ({ tree }, pick) =>
      at(
        tree.segments,
        (_, i) => i > 0,
        pick,
        segment => (segment.kind = 'prompt'),
      ),
  },
  {
    name: 'a hole between segments',
    found: 'tokens',
    says: /begins at token/,
    spoil: ({ tree }, pick) =>
      at(
        tree.segments,
        (_, i) => i > 0,
        pick,
        segment => segment.start++,
      ),
  },
  {
    name: 'a token too many in the columns',
    found: 'tokens',
    says: /tokens, the columns/,
    spoil: ({ columns }) => ((columns.ids = Int32Array.from([...columns.ids, 1])), true),
  },
  {
    name: 'a turn that forks',
    found: 'siblings',
    says: /only a prompt or a result forks/,
    spoil: ({ tree }, pick) =>
      at(
        tree.segments,
        ({ kind, stop }) => kind === 'model' && stop !== 'answer',
        pick,
        (_, parent) =>
          ['a', 'b'].forEach(text => tree.segments.push({ ...tree.segments.at(-1)!, parent, text })),
      ),
  },
  {
    name: 'a segment on no path',
    found: 'siblings',
    says: /is on no path/,
    spoil: ({ tree }) => {
      const end = tree.segments.at(-1)!;
      tree.segments.push({
        ...end,
        parent: 0,
        start: end.start + end.count,
        count: 0,
        turn: 0,
        kind: 'model',
        stop: 'answer',
      });
      return true;
    },
  },
  {
    name: 'a branch that left elsewhere',
    found: 'siblings',
    says: /left (path|after)/,
    spoil: ({ tree }, pick) =>
      at(
        tree.paths,
        ({ from }) => !!from,
        pick,
        path => (path.from = { ...path.from!, segment: 0 }),
      ),
  },
  {
    name: 'a branch that goes on as its source did',
    found: 'siblings',
    says: /yet both go on with/,
    spoil: ({ tree }, pick) => {
      const earlier = (path: Tree['paths'][number], index: number): number =>
        segmentsOf(tree, index).find(
          segment => tree.segments[segment]!.kind === 'tool' && segment < (path.from?.segment ?? 0),
        ) ?? -1;
      return at(
        tree.paths,
        (path, i) => earlier(path, i) >= 0,
        pick,
        (path, i) => (path.from = { ...path.from!, segment: earlier(path, i) }),
      );
    },
  },
  {
    name: 'a turn counted wrongly',
    found: 'turns',
    says: /says turn/,
    spoil: ({ tree }, pick) =>
      at(
        tree.segments,
        () => true,
        pick,
        segment => segment.turn++,
      ),
  },
  {
    name: 'a path that ended otherwise than its leaf',
    found: 'stops',
    says: /Path . ended by length/,
    spoil: ({ tree }, pick) =>
      at(
        tree.paths,
        ({ stop }) => stop === 'answer',
        pick,
        path => (path.stop = 'length'),
      ),
  },
  {
    name: 'an answer that goes on',
    found: 'stops',
    says: /ended its path by answer/,
    spoil: ({ tree }, pick) =>
      at(
        tree.segments,
        (_, i) => tree.segments[i]!.stop === 'call' && hasChild(tree, i),
        pick,
        segment => (segment.stop = 'answer'),
      ),
  },
  {
    name: 'a result without its call',
    found: 'stops',
    says: /lacks a tool call/,
    spoil: ({ tree }, pick) =>
      at(
        tree.segments,
        ({ kind }) => kind === 'tool',
        pick,
        segment => delete segment.call,
      ),
  },
  {
    name: 'a response beyond the limit',
    found: 'lengths',
    says: /response|tokens/,
    spoil: subject => {
      const longest = Math.max(...subject.tree.segments.slice(1).map(({ count }) => count));
      subject.settings = { ...subject.settings, maxResponseTokens: longest - 1 };
      return true;
    },
  },
  {
    name: 'a turn beyond the limit',
    found: 'lengths',
    says: /Turn .* are allowed/,
    spoil: subject => ((subject.settings = { ...subject.settings, maxTurnTokens: 1 }), true),
  },
  {
    name: 'a call counted twice',
    found: 'calls',
    says: /counts .* calls, but/,
    spoil: ({ tree }, pick) =>
      at(
        tree.paths,
        () => true,
        pick,
        path => path.calls++,
      ),
  },
  {
    name: 'a call beyond what all tools together may have',
    found: 'calls',
    says: /made . calls; . are allowed/,
    spoil: subject => {
      const most = Math.max(...subject.tree.paths.map(({ calls }) => calls));
      subject.settings = { ...subject.settings, callLimit: most - 1 };
      return most > 0;
    },
  },
  {
    name: 'a call beyond a tool’s own limit',
    found: 'calls',
    says: /called search/,
    spoil: subject => {
      subject.settings = { ...subject.settings, limits: { search: 0 } };
      return subject.tree.segments.some(({ call }) => call?.tool === 'search');
    },
  },
  {
    name: 'a trajectory too many',
    found: 'budget',
    says: /The tree has .* trajectories of/,
    spoil: ({ tree }) => ((tree.total = tree.paths.length - 1), true),
  },
  {
    name: 'a start from the prompt that was not planned',
    found: 'budget',
    says: /started from the prompt at first/,
    spoil: ({ tree }) => ((tree.initial += 1), true),
  },
  {
    name: 'a branch beyond the budget',
    found: 'budget',
    says: /A branch was made when all/,
    spoil: ({ tree }, pick) =>
      at(
        tree.decisions,
        ({ outcome }) => outcome === 'branch',
        pick,
        decision => (decision.made = tree.total),
      ),
  },
  {
    name: 'a decision that reckoned with another budget',
    found: 'budget',
    says: /A decision reckoned with/,
    spoil: ({ tree }, pick) =>
      at(
        tree.decisions,
        () => true,
        pick,
        decision => decision.total++,
      ),
  },
  {
    name: 'a branch without a child',
    found: 'decisions',
    says: /with no child/,
    spoil: ({ tree }, pick) =>
      at(
        tree.decisions,
        ({ child }) => child !== undefined,
        pick,
        decision => delete decision.child,
      ),
  },
  {
    name: 'an answer that the budget gave too early',
    found: 'decisions',
    says: /the answer is budget, with/,
    spoil: ({ tree }, pick) =>
      at(
        tree.decisions,
        ({ outcome }) => outcome === 'refuse',
        pick,
        decision => (decision.outcome = 'budget'),
      ),
  },
  {
    name: 'a probability off by a thousandth',
    found: 'decisions',
    says: /P is/,
    spoil: ({ tree }, pick) =>
      at(
        tree.decisions,
        () => true,
        pick,
        decision => (decision.probability += 1e-3),
      ),
  },
  {
    name: 'ΔH with the wrong sign',
    found: 'decisions',
    says: /ΔH is/,
    spoil: ({ tree }, pick) =>
      at(
        tree.decisions,
        ({ entropyDelta }) => Math.abs(entropyDelta) > 1e-3,
        pick,
        decision => (decision.entropyDelta *= -1),
      ),
  },
  {
    name: 'a refusal that the draw did not give',
    found: 'decisions',
    says: /the gate says branch/,
    spoil: ({ tree }, pick) =>
      at(
        tree.decisions,
        ({ outcome }) => outcome === 'branch',
        pick,
        decision => {
          decision.outcome = 'refuse';
          delete decision.child;
        },
      ),
  },
  {
    name: 'a decision with another path’s child',
    found: 'decisions',
    says: /is named as its child/,
    spoil: ({ tree }, pick) =>
      at(
        tree.decisions,
        ({ child }) => child !== undefined,
        pick,
        decision => (decision.child = 0),
      ),
  },
  {
    name: 'credit for a tool’s words',
    found: 'masks',
    says: /has credit/,
    spoil: ({ tree }, pick) =>
      at(
        tree.segments,
        ({ kind }) => kind === 'tool' || kind === 'prompt',
        pick,
        (_, i) => ((tree.credit!.hard as (number | null)[])[i] = 0),
      ),
  },
  {
    name: 'a drawn token without its log-probability',
    found: 'masks',
    says: /was not drawn/,
    spoil: ({ tree, columns }, pick) =>
      at(
        tree.segments,
        ({ kind, count }) => kind === 'model' && count > 0,
        pick,
        ({ start, count }) => (columns.samplerLogProbs[start + pick(count)] = NaN),
      ),
  },
  {
    name: 'a log-probability for a prompt’s token',
    found: 'masks',
    says: /has the numbers of a draw/,
    spoil: ({ columns }) => ((columns.samplerLogProbs[0] = -1), true),
  },
  {
    name: 'a reward beyond its parts',
    found: 'rewards',
    says: /its parts add to/,
    spoil: ({ tree }, pick) =>
      at(
        tree.paths,
        () => true,
        pick,
        path => (path.reward = { ...path.reward!, total: path.reward!.total + 0.1 }),
      ),
  },
  {
    name: 'a trajectory that was not judged',
    found: 'rewards',
    says: /was not judged/,
    spoil: ({ tree }, pick) =>
      at(
        tree.paths,
        () => true,
        pick,
        path => delete path.reward,
      ),
  },
  {
    name: 'advantages that do not add to 0',
    found: 'advantages',
    says: /instead of 0/,
    spoil: ({ tree }, pick) =>
      tree.paths.length > 1 &&
      at(
        tree.paths,
        () => true,
        pick,
        (_, i) => {
          const hard = tree.credit!.hard as (number | null)[];
          (tree.credit!.soft as number[])[i]! += 0.01;
          // Their means over the paths below go along, so that only the sum is wrong.
          pathsThrough(tree).forEach((paths, segment) => {
            if (hard[segment] !== null && paths.includes(i)) hard[segment]! += 0.01 / paths.length;
          });
        },
      ),
  },
  {
    name: 'hard credit off its mean',
    found: 'advantages',
    says: /has the hard credit/,
    spoil: ({ tree }, pick) =>
      at(
        tree.credit!.hard,
        credit => credit !== null,
        pick,
        (_, i) => ((tree.credit!.hard as number[])[i]! += 0.01),
      ),
  },
  {
    name: 'an advantage that is no number',
    found: 'finite',
    says: /The advantage of path 0 is NaN/,
    spoil: ({ tree }) => (((tree.credit!.soft as number[])[0] = NaN), true),
  },
  {
    name: 'a probability above 1',
    found: 'finite',
    says: /sampler log-probability 0.5/,
    spoil: ({ tree, columns }, pick) =>
      at(
        tree.segments,
        ({ kind, count }) => kind === 'model' && count > 0,
        pick,
        ({ start }) => (columns.samplerLogProbs[start] = 0.5),
      ),
  },
  {
    name: 'alternatives that are not in order',
    found: 'finite',
    says: /has alternatives/,
    spoil: ({ columns: { alternatives } }, pick) =>
      alternatives !== undefined &&
      at(
        [...alternatives.ids],
        (_, i) => i % alternatives.k > 0,
        pick,
        (_, i) => (alternatives.logProbs[i] = alternatives.logProbs[i - 1]! + 0.01),
      ),
  },
  {
    name: 'an alternative without a number',
    found: 'finite',
    says: /has alternatives/,
    spoil: ({ columns: { alternatives } }) =>
      alternatives !== undefined && ((alternatives.logProbs[0] = NaN), true),
  },
  {
    name: 'a drawn token that is less likely among its alternatives',
    found: 'finite',
    says: /has alternatives/,
    spoil: ({ columns: { alternatives } }) =>
      alternatives !== undefined &&
      ((alternatives.logProbs[alternatives.k - 1]! -= 0.01), alternatives.k === 1),
  },
  {
    name: 'an endless trainer log-probability',
    found: 'finite',
    says: /trainer log-probability -Infinity/,
    spoil: ({ columns }) => ((columns.trainerLogProbs[1] = -Infinity), true),
  },
];

describe('checks of trees', () => {
  it('find nothing in 150 random trees of both rules, and see all of them', async () => {
    let paths = 0;
    let decisions = 0;
    for (const seed of SEEDS) {
      const subject = await grown(seed);
      assert.deepEqual(checkTree(subject), [], `seed ${seed}`);
      paths += subject.tree.paths.length;
      decisions += subject.tree.decisions.length;
    }
    assert.ok(paths > 500 && decisions > 100, `${paths} paths, ${decisions} decisions`);
  });

  for (const { name, found, says, spoil } of MUTATIONS)
    it(`find ${name} (${found})`, async () => {
      let spoilt = 0;
      for (const seed of SEEDS) {
        const subject = await grown(seed);
        const key = streamKey(seed, name);
        let drawn = 0;
        if (!spoil(subject, n => below(key, drawn++, n))) continue;
        spoilt++;
        const findings = checkTree(subject);
        assert.ok(
          findings.some(
            ({ id, message, tree }) => id === found && says.test(message) && tree === subject.tree.id,
          ),
          `seed ${seed}: ${findings.map(({ id, message }) => `${id}: ${message}`).join('; ') || 'nothing'}`,
        );
      }
      assert.ok(spoilt >= 3, `only ${spoilt} trees could be spoilt`);
    });

  it('leave it to a reward of the user’s own whether its parts add up', async () => {
    const subject = await grown(3);
    subject.tree.paths.forEach(path => (path.reward = { ...path.reward!, parts: { bleu: 32 } }));
    assert.equal(checkTree(subject).filter(({ id }) => id === 'rewards').length, subject.tree.paths.length);
    const config = defaults();
    config.reward.custom.command = ['python3', 'reward.py'];
    const { ownReward } = checkSettings(config);
    assert.deepEqual([checkSettings(defaults()).ownReward, ownReward], [false, true]);
    const settings = { ...subject.settings, ownReward };
    assert.deepEqual(checkTree({ ...subject, settings }), []);
    delete subject.tree.paths[0]!.reward;
    assert.deepEqual(
      checkTree({ ...subject, settings }).map(({ id }) => id),
      ['rewards'],
    );
  });

  it('have a claim each, and a mutation that each finds', () => {
    assert.deepEqual(
      checkIds.filter(id => !MUTATIONS.some(({ found }) => found === id)),
      [],
    );
    for (const { claim } of Object.values(CHECKS)) assert.match(claim, /^[A-Z].*\.$/);
  });

  it('name the token of a broken number', async () => {
    const subject = await grown(3);
    const model = subject.tree.segments.find(({ kind }) => kind === 'model')!;
    subject.columns.entropies[model.start] = Infinity;
    const [finding] = checkTree(subject);
    assert.equal(finding!.token, model.start);
    assert.equal(finding!.message, `Token ${model.start} has the entropy Infinity.`);
  });
});
