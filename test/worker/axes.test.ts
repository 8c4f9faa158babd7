/** Every algorithm runs through the one loop, and what existed before an axis was added stays as it was, bit for bit. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'mocha';
import type { Config } from '../../src/core/config.ts';
import { PRESETS, type Preset } from '../../src/core/configKeys.ts';
import { fold } from '../../src/core/fold.ts';
import { responseTokens } from '../../src/core/tree.ts';
import { END } from '../fakes/characters.ts';
import type { Script, ScriptedPolicy } from '../fakes/scriptedPolicy.ts';
import { batchesOf, trained } from '../fakes/loop.ts';

/** What three steps of a preset decided, credited and handed to the engine, as one digest. */
async function digestOf(preset: Preset): Promise<string> {
  const { written, policy } = await trained(preset);
  const trees = written.map(({ tree: { id, initial, total, paths, decisions, credit } }) => ({
    id,
    initial,
    total,
    paths: paths.map(({ leaf, origin, calls, stop, reward }) => [leaf, origin, calls, stop, reward?.total]),
    decisions: decisions.map(({ segment, path, round, probability, draw, outcome, child }) => [
      segment,
      path,
      round,
      probability,
      draw,
      outcome,
      child,
    ]),
    soft: credit?.soft,
    hard: credit?.hard,
  }));
  const batches = batchesOf(policy).map(({ batch, objective }) => ({
    terms: batch.trees.map(({ ids, termStart, termAdvantage, termWeight, termPath, oldLogProbs }) =>
      [ids, termStart, termAdvantage, termWeight, termPath, oldLogProbs ?? []].map(column => [...column]),
    ),
    bounds: [objective.kind, objective.clipLow, objective.clipHigh, String(objective.dualClip)],
    weights: [objective.klWeight, objective.entropyWeight],
  }));
  return createHash('sha256').update(JSON.stringify({ trees, batches })).digest('hex').slice(0, 16);
}

describe('algorithms as points on axes', () => {
  const before: [Preset, string][] = [
    ['arpo', 'f42431bddad14342'],
    ['arpo-upstream', '66c0c1196785617e'],
    ['grpo', '82e705c290c552ac'],
  ];
  for (const [preset, digest] of before)
    it(`leaves preset ${preset} as it was before the axes`, async () => {
      assert.equal(await digestOf(preset), digest);
    });

  for (const preset of Object.keys(PRESETS) as Preset[])
    it(`trains ${preset} to the same end twice, with finite numbers`, async () => {
      const runs = await Promise.all([trained(preset), trained(preset)]);
      const [first, second] = runs.map(({ written }) => written);
      assert.deepEqual(first, second);
      const { summaries, warnings } = fold(runs[0].events);
      assert.equal(summaries.length, 3);
      assert.deepEqual(warnings, []);
      const batches = batchesOf(runs[0].policy);
      for (const { batch } of batches)
        for (const { termAdvantage, termWeight } of batch.trees)
          assert.ok([...termAdvantage, ...termWeight].every(Number.isFinite));
      assert.ok(batches.some(({ batch }) => batch.trees.length > 0));
    });

  it('splits every group’s budget by a probe under AEPO, and counts what the probe cost', async () => {
    const { written, events, policy, config } = await trained('aepo');
    for (const { tree } of written) {
      const { probe, paths } = tree;
      const share = 6 / (1 + Math.exp(-0.5 * (probe!.rootEntropy - probe!.turnEntropy)));
      assert.ok(Math.abs(probe!.share - share) < 1e-12);
      assert.equal(tree.initial, Math.min(6, Math.floor(share) + 1));
      assert.equal(paths.filter(({ origin }) => origin === 'initial').length, tree.initial);
      assert.equal(paths.length, 6);
      const roots = policy.requests.filter(({ key }) => key === `${tree.id}/probe/root`);
      assert.deepEqual(
        roots.map(({ maxTokens, topLogProbs }) => [maxTokens, topLogProbs]),
        [[50, 0]],
      );
      assert.ok(probe!.tokens > 0 && probe!.tokens <= 50 + config.rollout.maxResponseTokens);
    }
    const told = events.filter(event => 'tree' in event && event.tree.includes('probe'));
    assert.deepEqual(told, []);
    for (const { step, summary } of fold(events).summaries) {
      const trees = written.filter(({ tree }) => tree.step === step).map(({ tree }) => tree);
      const probed = trees.reduce((sum, { probe }) => sum + probe!.calls.length, 0);
      const grown = trees.reduce((sum, { segments }) => sum + segments.filter(({ call }) => call).length, 0);
      assert.equal(summary.probes!.made, 4);
      assert.equal(summary.probes!.calls, probed);
      assert.equal(summary.toolCalls.total, probed + grown);
    }
  });

  it('measures the prompt against all turns (upstream) or those after results (paper)', async () => {
    // The first turn is certain, turns after a result are not, and there is one call.
    const script: Script = (said, { key }) => {
      const isFirst = !said.includes('</result>');
      const text = isFirst ? '<think>a</think><search>sum of 1 and 2</search>' : `<answer>3</answer>${END}`;
      return { text, entropies: key.endsWith('/root') ? 2 : isFirst ? 0.5 : 1.5 };
    };
    const probeOf = async (budget: 'paper' | 'upstream') =>
      (await trained('aepo', ({ algorithm }) => void (algorithm.budget = budget), script)).written[0]!.tree;
    const upstream = await probeOf('upstream');
    assert.deepEqual([upstream.probe!.rootEntropy, upstream.probe!.turnEntropy], [2, 1]);
    // 6·σ(.5) = 3.735: ⌊·⌋ + 1 is 4.
    assert.equal(upstream.initial, 4);
    const paper = await probeOf('paper');
    assert.deepEqual([paper.probe!.rootEntropy, paper.probe!.turnEntropy], [2, 1.5]);
    // 6·σ(.25) = 3.373, rounded 3.
    assert.equal(paper.initial, 3);
    assert.equal(paper.probe!.calls.length, 1);
  });

  it('damps repeated branching under AEPO and records how far', async () => {
    for (const preset of ['aepo', 'aepo-upstream'] as const) {
      const { written } = await trained(preset, ({ rollout, algorithm }) => {
        rollout.initialRollouts = 1;
        algorithm.budget = 'fixed';
      });
      const decisions = written.flatMap(({ tree }) => tree.decisions);
      assert.ok(decisions.some(({ penalty }) => penalty!.consecutive > 0));
      for (const {
        penalty,
        branchProbability: alpha,
        entropyWeight,
        entropyDelta,
        probability,
      } of decisions) {
        const factor = Math.max(0, 1 - 0.05 * penalty!.consecutive);
        assert.equal(penalty!.factor, factor);
        const plain =
          penalty!.form === 'paper'
            ? (alpha + entropyWeight * entropyDelta) * factor
            : 1 - alpha / factor + entropyWeight * entropyDelta;
        assert.ok(Math.abs(probability - Math.min(1, Math.max(0, plain))) < 1e-12);
      }
    }
  });

  it('scores entropies before the update where advantages depend on them', async () => {
    const { policy } = await trained('aepo');
    const learning = policy.asked.filter(asked => ['score', 'accumulate'].includes(asked));
    assert.deepEqual(learning.slice(0, 2), ['score', 'accumulate']);
    // The script scores every token alike, so that no advantage changes.
    const plain = await trained('aepo', ({ algorithm }) => void (algorithm.entropyAdvantage = 'none'));
    const advantagesOf = (asked: ScriptedPolicy) =>
      batchesOf(asked).map(({ batch }) => batch.trees.map(({ termAdvantage }) => termAdvantage));
    assert.deepEqual(advantagesOf(policy), advantagesOf(plain.policy));
    assert.equal(plain.policy.asked.includes('score'), false);
  });

  it('replaces groups without variance by further tasks, and learns only from mixed ones (DAPO)', async () => {
    const { written, events, policy } = await trained('dapo');
    const rounds = events.filter(event => event.type === 'tasks-added');
    assert.ok(rounds.length > 0);
    for (const { step, summary } of fold(events).summaries) {
      const trees = written.filter(({ tree }) => tree.step === step).map(({ tree }) => tree);
      for (const tree of trees) {
        const earned = tree.paths.map(({ reward }) => reward!.total - reward!.parts['length']!);
        const isFlat = earned.every(reward => Math.abs(reward - earned[0]!) < 1e-9);
        assert.equal(tree.isDropped === true, isFlat, tree.id);
        assert.equal(tree.credit === undefined, isFlat, tree.id);
      }
      const dropped = trees.filter(tree => tree.isDropped).length;
      const added = rounds.filter(event => event.step === step);
      assert.deepEqual(summary.filter, { rounds: added.length, kept: trees.length - dropped, dropped });
      assert.equal(summary.tasks, trees.length);
      assert.ok(summary.filter.kept <= 4 && summary.filter.rounds <= 3);
      assert.ok(summary.filter.kept === 4 || summary.filter.rounds === 3);
      const tasks = trees.map(({ task }) => task.id);
      assert.equal(new Set(tasks).size, tasks.length, 'no task twice in a step');
      assert.deepEqual(
        trees.map(({ id }) => id),
        trees.map((_, index) => `${step}.${index}`),
      );
      assert.equal(batchesOf(policy)[step - 1]!.batch.trees.length, summary.filter.kept);
    }
  });

  it('gives up after the bound where no group has variance, and makes no update', async () => {
    const script: Script = () => ({ text: `<think>a</think>${END}` });
    const change = ({ algorithm }: Config) => Object.assign(algorithm, { resampleRounds: 2 });
    const { events, policy } = await trained('dapo', change, script);
    const { warnings } = fold(events);
    assert.equal(warnings.length, 3);
    assert.match(warnings[0]!.failure.message, /step 1 .* after 2 rounds/);
    for (const { summary } of fold(events).summaries) {
      assert.deepEqual(summary.filter, { rounds: 2, kept: 0, dropped: 12 });
      assert.equal(summary.loss, undefined);
    }
    assert.deepEqual(batchesOf(policy), []);
  });

  it('takes reward from answers near the limit (DAPO)', async () => {
    const { written } = await trained('dapo');
    const lengths = written.flatMap(({ tree }) =>
      tree.paths.map(({ reward }, path) => [responseTokens(tree, path), reward!.parts['length']!] as const),
    );
    // 400 tokens at most, of which the last 80 cost.
    for (const [tokens, length] of lengths)
      assert.ok(
        Math.abs(length + Math.min(1, Math.max(0, (tokens - 320) / 80))) < 1e-12,
        `${tokens}: ${length}`,
      );
    assert.ok(lengths.some(([, length]) => length === -1) && lengths.some(([, length]) => length === 0));
  });

  it('compares turns after equal results in one tree (GiGPO)', async () => {
    const { written } = await trained('gigpo');
    const afterTool = written.flatMap(({ tree: { credit, segments } }) =>
      credit!.steps!.filter((_, index) => segments[segments[index]!.parent]?.kind === 'tool'),
    );
    assert.ok(afterTool.flat().some(value => value !== 0));
  });
});
