/** The training loop over fakes, with everything that it told, wrote and handed to the engine. */
import type { Batch } from '../../src/core/batch.ts';
import { defaults, type Config } from '../../src/core/config.ts';
import type { Preset } from '../../src/core/configKeys.ts';
import type { Event, Fact } from '../../src/core/events.ts';
import type { ObjectiveSettings } from '../../src/core/objective.ts';
import type { Grown } from '../../src/core/tree.ts';
import type { Policy } from '../../src/worker/policy/policy.ts';
import { makeControl, type Control } from '../../src/worker/status.ts';
import { train, type Training } from '../../src/worker/train.ts';
import { scriptedPolicy, type Script, type ScriptedPolicy } from './scriptedPolicy.ts';
import { sums, sumsScript, sumsTools, tinyTokenizer } from './tinyWorld.ts';

/** What was handed to `accumulate`. */
export interface Handed {
  batch: Batch;
  objective: ObjectiveSettings;
}

export interface Trained {
  events: Event[];
  written: Grown[];
  policy: ScriptedPolicy;
  config: Config;
}

const handed = new WeakMap<ScriptedPolicy, Handed[]>();
export const batchesOf = (policy: ScriptedPolicy): readonly Handed[] => handed.get(policy) ?? [];

function listening(script: Script): ScriptedPolicy {
  const policy = scriptedPolicy(script);
  const { accumulate } = policy;
  const list: Handed[] = [];
  handed.set(policy, list);
  policy.accumulate = (batch, objective) => {
    list.push({ batch, objective });
    return accumulate(batch, objective);
  };
  return policy;
}

/** A preset's config in the size of the world of sums; `change` has the last word. */
export function smallConfig(preset: Preset, change: (config: Config) => void = () => undefined): Config {
  const config = defaults(preset);
  const isFlat = config.rollout.initialRollouts === config.rollout.groupSize;
  config.steps = 3;
  Object.assign(config.rollout, {
    tasksPerStep: 4,
    groupSize: 6,
    initialRollouts: isFlat ? 6 : 3,
    maxResponseTokens: 400,
  });
  config.checkpoint.every = 100;
  config.algorithm.updatesPerStep = 1;
  Object.assign(config.evaluation, { before: false, after: false, every: 0 });
  change(config);
  return config;
}

/** The loop over fakes, ready to be trained, with all that it will tell, write, save and have measured. */
export interface Loop {
  run: Training;
  control: Control;
  events: Event[];
  written: Grown[];
  saved: number[];
  evaluated: number[];
}

export function loop(config: Config, policy: Policy = scriptedPolicy(sumsScript), toolDelayMs = 0): Loop {
  const [events, written, saved, evaluated]: [Event[], Grown[], number[], number[]] = [[], [], [], []];
  const control = makeControl('loop', { steps: config.steps, groupSize: config.rollout.groupSize });
  const run: Training = {
    config,
    policy,
    dataset: { name: 'sums', tasks: sums(40), warnings: [] },
    tokenizer: tinyTokenizer,
    tools: sumsTools(toolDelayMs),
    evaluations: { start: step => void evaluated.push(step), settled: () => Promise.resolve() },
    control,
    tell(fact: Fact, step: number) {
      events.push({ seq: events.length, at: '2026-01-01T00:00:00.000Z', step, ...fact });
    },
    write(_step, grown) {
      written.push(...grown);
      return grown.map(({ columns }) => ({
        span: { offset: 0, length: 1 },
        tokens: { offset: 0, count: columns.ids.length },
      }));
    },
    export: () => Promise.resolve(),
    save(step) {
      if (saved.at(-1) !== step) saved.push(step);
      return Promise.resolve(`step-${step}`);
    },
  };
  return { run, control, events, written, saved, evaluated };
}

/** Three steps of a preset. */
export async function trained(
  preset: Preset,
  change?: (config: Config) => void,
  script: Script = sumsScript,
): Promise<Trained> {
  const config = smallConfig(preset, change);
  const policy = listening(script);
  const { run, events, written } = loop(config, policy);
  await train(run, 0);
  return { events, written, policy, config };
}
