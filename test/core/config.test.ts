/** A config resolves to every key, and what cannot be run is refused with key and fix. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { ConfigProblem } from '../../src/core/config.ts';
import { defaults, editorSchema, jsonSchema, validate } from '../../src/core/config.ts';
import { isRequired, KEYS, PRESETS, keyNames, type AnyKey, type Preset } from '../../src/core/configKeys.ts';
import type { Schema } from '../../src/core/configSchema.ts';

const MINIMAL = { policy: { path: 'policy' }, data: { train: 'train.parquet' } };

function accepted(value: object) {
  const result = validate({ ...MINIMAL, ...value });
  assert.ok('config' in result, JSON.stringify(result));
  return result.config;
}

function refused(value: object): ConfigProblem[] {
  const result = validate({ ...MINIMAL, ...value });
  assert.ok('problems' in result, 'it was accepted');
  return result.problems;
}

/** Dotted names of all values of an object. */
const leaves = (value: object, prefix = ''): string[] =>
  Object.entries(value).flatMap(([name, child]: [string, unknown]) =>
    typeof child === 'object' && child !== null && !Object.hasOwn(KEYS, `${prefix}${name}`)
      ? leaves(child, `${prefix}${name}.`)
      : [`${prefix}${name}`],
  );

describe('config', () => {
  it('has the paper’s settings as defaults', () => {
    const { rollout, tools, algorithm, optimizer } = defaults();
    assert.deepEqual(
      [rollout.rule, rollout.entropyTokens, rollout.branchProbability, rollout.entropyWeight, rollout.gate],
      ['paper', 20, 0.5, 0.2, 'bernoulli'],
    );
    assert.deepEqual(
      [rollout.groupSize, rollout.initialRollouts, rollout.beamSize, rollout.temperature],
      [16, 8, 2, 1],
    );
    assert.deepEqual(
      [rollout.maxResponseTokens, tools.callLimit, rollout.limitAction],
      [4096, 3, 'append-end-masked'],
    );
    assert.deepEqual(
      [algorithm.aggregation, algorithm.clipLow, algorithm.clipHigh, algorithm.dualClip, algorithm.klWeight],
      ['token-mean', 0.2, 0.2, 3, 0],
    );
    assert.deepEqual(
      [optimizer.learningRate, optimizer.weightDecay, optimizer.maxGradientNorm],
      [1e-6, 0.01, 1],
    );
  });

  it('has one key in the table for every value of a resolved config, and the other way round', () => {
    assert.deepEqual(leaves(defaults()).sort(), [...keyNames].sort());
  });

  it('makes presets differ as they are described', () => {
    assert.equal(defaults('arpo-upstream').rollout.rule, 'upstream');
    assert.equal(defaults('arpo-upstream').rollout.limitAction, 'append-end-trained');
    assert.equal(defaults('grpo').rollout.initialRollouts, defaults('grpo').rollout.groupSize);
    assert.equal(accepted({ preset: 'grpo', rollout: { groupSize: 6 } }).rollout.initialRollouts, 6);
    assert.equal(accepted({ rollout: { rule: 'upstream' } }).rollout.limitAction, 'append-end-trained');
  });

  it('makes the published algorithms points on the same axes', () => {
    const changes = (preset: Preset) => {
      const [from, to] = [defaults('grpo').algorithm, defaults(preset).algorithm];
      return Object.fromEntries(Object.entries(to).filter(([name, value]) => from[name as never] !== value));
    };
    assert.deepEqual(changes('arpo'), {});
    assert.deepEqual(changes('aepo'), {
      budget: 'upstream',
      branchPenalty: 'paper',
      clip: 'gradient-preserving-upper',
      entropyAdvantage: 'upstream',
    });
    assert.deepEqual(changes('aepo-upstream'), { ...changes('aepo'), branchPenalty: 'upstream' });
    assert.deepEqual(changes('dapo'), { clipHigh: 0.28, filter: 'mixed', overlongShare: 0.2 });
    const atLimit = (preset: Preset): string => defaults(preset).rollout.limitAction;
    assert.deepEqual((['arpo', 'aepo', 'arpo-upstream', 'aepo-upstream'] as const).map(atLimit), [
      'append-end-masked',
      'append-end-masked',
      'append-end-trained',
      'append-end-trained',
    ]);
    assert.deepEqual(changes('reinforce++'), { baseline: 'batch-mean', scale: 'batch-std' });
    assert.deepEqual(changes('reinforce++-baseline'), { scale: 'batch-std' });
    assert.deepEqual(changes('rloo'), { baseline: 'leave-one-out', scale: 'none' });
    assert.deepEqual(changes('gppo'), { clip: 'gradient-preserving' });
    assert.deepEqual(changes('cispo'), { clip: 'cispo', clipLow: 1, clipHigh: 0.28 });
    assert.deepEqual(changes('gspo'), {
      ratio: 'sequence',
      clipLow: 3e-4,
      clipHigh: 4e-4,
      dualClip: 0,
      aggregation: 'seq-mean-token-mean',
    });
    assert.deepEqual(changes('gigpo'), { credit: 'step' });
    assert.deepEqual(changes('dr-grpo'), { scale: 'none', aggregation: 'seq-mean-token-sum-norm' });
    for (const preset of Object.keys(PRESETS) as Preset[]) {
      const { initialRollouts, groupSize, rule } = defaults(preset).rollout;
      assert.equal(initialRollouts < groupSize, /^(arpo|aepo)/u.test(preset), preset);
      assert.equal(rule, preset.endsWith('upstream') ? 'upstream' : 'paper');
    }
  });

  it('does not hold the prompt’s share against the group where a probe decides it', () => {
    assert.equal(accepted({ preset: 'aepo', rollout: { groupSize: 4 } }).rollout.groupSize, 4);
    const fixed = { preset: 'aepo', rollout: { groupSize: 4 }, algorithm: { budget: 'fixed' } };
    assert.equal(refused(fixed)[0]!.key, 'rollout.groupSize');
  });

  it('lets a key override its preset', () => {
    assert.equal(
      accepted({ preset: 'arpo-upstream', rollout: { entropyWeight: 0.4 } }).rollout.entropyWeight,
      0.4,
    );
  });

  it('accepts what it resolved, for every preset', () => {
    for (const preset of Object.keys(PRESETS) as Preset[]) {
      const config = accepted({ preset });
      assert.deepEqual(validate(config), { config });
    }
  });

  const CASES: [string, object, string, RegExp][] = [
    ['an unknown key', { rolout: {} }, 'rolout', /mean rollout\?/],
    ['a misspelt key', { rollout: { groupsize: 4 } }, 'rollout.groupsize', /rollout\.groupSize/],
    ['a key in the wrong place', { groupSize: 4 }, 'groupSize', /rollout\.groupSize/],
    [
      'verl’s spelling',
      { rollout: { initial_rollouts: 4 } },
      'rollout.initial_rollouts',
      /rollout\.initialRollouts/,
    ],
    ['a key like none', { xyzzyxyzzy: 1 }, 'xyzzyxyzzy', /Remove it/],
    ['a dotted key', { 'rollout.groupSize': 4 }, 'rollout.groupSize', /mean rollout\.groupSize/],
    ['a wrong type', { steps: '40' }, 'steps', /default is 100/],
    ['a number that is not whole', { steps: 1.5 }, 'steps', /default is 100/],
    ['a number out of range', { rollout: { branchProbability: 1.1 } }, 'rollout.branchProbability', /0\.5/],
    ['a temperature of 0', { rollout: { temperature: 0 } }, 'rollout.temperature', /1/],
    ['an infinite number', { optimizer: { learningRate: Infinity } }, 'optimizer.learningRate', /0\.000001/],
    ['null', { seed: null }, 'seed', /default is 1/],
    ['a value for a group', { tools: 3 }, 'tools', /Write "tools"/],
    ['a list for a group', { tools: [] }, 'tools', /Write "tools"/],
    ['a misspelt choice', { rollout: { gate: 'treshold' } }, 'rollout.gate', /mean "threshold"/],
    ['a choice like none', { algorithm: { credit: 7 } }, 'algorithm.credit', /Write one/],
    ['a name with a slash', { name: '../x' }, 'name', /run/],
    ['an empty path', { policy: { path: '' } }, 'policy.path', /Hugging Face/],
    ['a missing path', { data: {} }, 'data.train', /Add it/],
    ['webgpu', { device: 'webgpu' }, 'device', /"auto" or "cpu"/],
    [
      'more initial rollouts than the group has',
      { rollout: { initialRollouts: 17 } },
      'rollout.initialRollouts',
      /at most 16/,
    ],
    [
      'a group smaller than the preset’s initial rollouts',
      { rollout: { groupSize: 4 } },
      'rollout.groupSize',
      /at most 4/,
    ],
    [
      'branching under grpo',
      { preset: 'grpo', rollout: { initialRollouts: 4 } },
      'rollout.initialRollouts',
      /preset "arpo"/,
    ],
    [
      'updates that do not divide the tasks',
      { algorithm: { updatesPerStep: 3 } },
      'algorithm.updatesPerStep',
      /example 2/,
    ],
    [
      'tasks that the updates do not divide',
      { rollout: { tasksPerStep: 12 } },
      'rollout.tasksPerStep',
      /example 6/,
    ],
    ['a threshold gate without threshold', { rollout: { gate: 'threshold' } }, 'rollout.gate', /"threshold"/],
    [
      'a threshold gate under upstream',
      { preset: 'arpo-upstream', rollout: { gate: 'threshold', threshold: 0.6 } },
      'rollout.gate',
      /rule "paper"/,
    ],
    [
      'a trained end under paper',
      { rollout: { limitAction: 'append-end-trained' } },
      'rollout.limitAction',
      /masked/,
    ],
    [
      'a masked end under upstream',
      { rollout: { rule: 'upstream', limitAction: 'append-end-masked' } },
      'rollout.limitAction',
      /trained/,
    ],
    [
      'a turn longer than the response',
      { rollout: { maxTurnTokens: 5000 } },
      'rollout.maxTurnTokens',
      /0 for all/,
    ],
    [
      'a probed budget under a preset that does not branch',
      { preset: 'rloo', algorithm: { budget: 'upstream' } },
      'algorithm.budget',
      /preset "aepo"/,
    ],
    [
      'sequence ratios with hard credit',
      { preset: 'gspo', algorithm: { credit: 'hard' } },
      'algorithm.credit',
      /credit "soft"/,
    ],
    [
      'a group’s deviation without a group’s mean',
      { algorithm: { baseline: 'none' } },
      'algorithm.baseline',
      /scale "batch-std"/,
    ],
    [
      'step-level credit over a whitened step',
      { preset: 'reinforce++', algorithm: { credit: 'step' } },
      'algorithm.credit',
      /scale "group-std"/,
    ],
    ['a clip form like none', { algorithm: { clip: 'ciso' } }, 'algorithm.clip', /mean "cispo"/],
    ['a dual clip below 1', { algorithm: { dualClip: 0.5 } }, 'algorithm.dualClip', /above 1/],
    ['an evaluation without tasks', { evaluation: { tasks: 10 } }, 'evaluation.tasks', /data\.heldOut/],
    [
      'a warm-up longer than the run',
      { steps: 5, optimizer: { warmupSteps: 6 } },
      'optimizer.warmupSteps',
      /at most 5/,
    ],
  ];
  for (const [what, value, key, fix] of CASES)
    it(`refuses ${what}`, () => {
      const [problem, ...others] = refused(value);
      assert.equal(problem?.key, key);
      assert.match(problem?.fix ?? '', fix);
      assert.ok((problem?.message.length ?? 0) > 8);
      assert.deepEqual(others, []);
    });

  it('refuses what is no object', () => {
    for (const value of [null, 3, 'x', [], undefined]) assert.ok('problems' in validate(value));
  });

  it('tells all problems at once', () => {
    const keys = refused({ seed: -1, steps: 0, policy: {}, wat: 1 }).map(({ key }) => key);
    assert.deepEqual(keys.sort(), ['policy.path', 'seed', 'steps', 'wat']);
  });

  it('is the same as its schema: every key with description, type and default, and no others allowed', () => {
    const seen: string[] = [];
    const walk = (schema: Schema, prefix: string): void => {
      assert.equal(schema.additionalProperties, false);
      for (const [name, child] of Object.entries(schema.properties ?? {})) {
        if (child.properties) walk(child, `${prefix}${name}.`);
        else if (name !== '$schema') {
          const key = `${prefix}${name}` as keyof typeof KEYS;
          seen.push(key);
          const spec = KEYS[key];
          assert.ok(String(child.description).startsWith(spec.description));
          if (key !== 'policy.path' && key !== 'data.train') assert.equal(child.default, spec.default);
          if ('choices' in spec) assert.deepEqual(child.enum, Object.keys(spec.choices));
        }
      }
    };
    const schema = jsonSchema();
    walk(schema, '');
    assert.deepEqual(seen.sort(), [...keyNames].sort());
    assert.deepEqual(schema.required, ['policy', 'data']);
    assert.equal(schema.$schema, 'http://json-schema.org/draft-07/schema#');
    assert.match(String(schema.properties?.rollout?.properties?.groupSize?.description), /symbol M/);
  });

  it('explains every key in the editor: its sentence, its default, and the paper’s symbol and section', () => {
    const schema = editorSchema();
    const SYMBOLS = ['M', 'N', 'Z', 'r_M', 'α', 'β', 'k', 'τ', 'ε_low', 'ε_high', 'c', 'ω', 'γ', 'a'];
    const symbols = new Set<string>();
    for (const key of keyNames) {
      const spec: AnyKey = KEYS[key];
      const found = key.split('.').reduce<Schema | undefined>((at, step) => at?.properties?.[step], schema);
      const text = String(found?.description);
      assert.ok(text.startsWith(spec.description), key);
      assert.ok(
        text.includes(isRequired(key) ? 'Must be given.' : `Default: ${JSON.stringify(spec.default)}.`),
        key,
      );
      if (spec.symbol !== undefined) assert.ok(text.includes(`symbol ${spec.symbol}`), key);
      if (spec.section !== undefined) assert.ok(text.includes(`section “${spec.section}”`), key);
      if (spec.symbol !== undefined) symbols.add(spec.symbol);
    }
    assert.deepEqual([...symbols].sort(), SYMBOLS.sort());
  });

  it('leaves refusals to the extension: in the editor’s schema every value fits', () => {
    const walk = (schema: Schema): void => {
      const { properties, anyOf } = schema;
      const refusing = ['type', 'enum', 'required', 'additionalProperties', 'pattern', 'minimum', 'items'];
      assert.deepEqual(
        refusing.filter(word => schema[word] !== undefined),
        [],
      );
      if (properties) return Object.values(properties).forEach(walk);
      assert.deepEqual((anyOf as unknown[])[1], {});
    };
    walk(editorSchema());
  });

  it('describes every key in sentences, and every choice', () => {
    for (const key of keyNames) {
      const spec = KEYS[key];
      assert.match(spec.description, /^[A-Z].*\.$/su, key);
      if ('choices' in spec)
        for (const meaning of Object.values(spec.choices)) assert.match(meaning, /\.$/u, key);
    }
  });
});
