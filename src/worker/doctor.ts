/**
 * Looks at everything that a config's run will need, in the order in which it will be needed, and goes on past what is wrong. Knows
 * nothing of command lines or of how results are shown.
 */
import * as fs from 'node:fs';
import { ok, wrong, type CheckResult } from '../core/checkup.ts';
import { problemText, type Config } from '../core/config.ts';
import { whole } from '../core/figures.ts';
import { toFailure } from '../protocol/channel.ts';
import { placeOfKey, readConfigFile } from '../run/configFile.ts';
import { checkArithmetic, checkContext, checkMemory, memoryLimit, shapeOf } from '../run/plan.ts';
import { takeTasks, type Dataset } from './dataset.ts';
import { checkData } from './doctor/data.ts';
import { checkAppending, checkLengths, checkTags, checkTemplate } from './doctor/prompts.ts';
import { checkOwnReward } from './doctor/reward.ts';
import { checkRollout, type Trial } from './doctor/rollout.ts';
import { checkTools } from './doctor/tools.ts';
import { engineSettings, type Equipment, type RunTokenizer } from './equipment.ts';
import { fitPrompts } from './promptLengths.ts';

export interface DoctorOptions {
  equipment: Equipment;
  /** Whether the policy is opened, a few trees are grown and learned from at rate 0. */
  tries: boolean;
  /** Hears each result as it is found. */
  tell?(result: CheckResult): void;
}

/** Tasks that trees are grown from. */
const TRIED_TASKS = 2;

export { checkRun } from './doctor/run.ts';

/** All that is to be said about a config file; never rejects over what the config names. */
export async function checkConfig(file: string, options: DoctorOptions): Promise<CheckResult[]> {
  const read = readConfigFile(file);
  const results: CheckResult[] = [];
  const add = (...more: CheckResult[]): void => {
    for (const result of more) {
      const placed = 'text' in read ? withPlace(result, file, read.text) : result;
      results.push(placed);
      options.tell?.(placed);
    }
  };
  if ('problems' in read) {
    for (const { key, message, fix, line } of read.problems)
      add(wrong('config', problemText({ key, message }), { file, line, fix, ...(key !== '' && { key }) }));
    return results;
  }
  const { config } = read;
  add(ok('config', `${config.name}: preset ${config.preset}, ${config.steps} steps.`));
  const opened: (() => Promise<void>)[] = [];
  try {
    await examine({ config, options, add, opened });
  } finally {
    for (const close of opened.reverse()) await close();
  }
  return results;
}

interface Examination {
  config: Config;
  options: DoctorOptions;
  add(...results: CheckResult[]): void;
  /** What is to be closed. */
  opened: (() => Promise<void>)[];
}

async function examine(examination: Examination): Promise<void> {
  const { config, options, add, opened } = examination;
  const { equipment } = options;
  /** Does one part; what it throws is a result, and the parts after it go on. */
  const part = async <T>(id: string, work: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      const { message, fix } = toFailure(error);
      add(wrong(id, message, fix === undefined ? {} : { fix }));
      return undefined;
    }
  };
  const data = await part('data', () => checkData(config));
  add(...(data?.results ?? []));
  const train = data?.train?.tasks.length ? data.train : undefined;
  const tokenizer = await part('tokenizer', () => equipment.openTokenizer(config.policy.path));
  const tools = await part('tools', () => equipment.openTools(config));
  if (tools) opened.push(() => tools.close());
  if (tokenizer && train) {
    add(
      ...((await part('template', () =>
        checkPrompts(tokenizer, train, { config, heldOut: data?.heldOut, tags: tools?.tags ?? [] }),
      )) ?? []),
    );
    add(...checkArithmetic(config, train.tasks.length));
  }
  const shape = await part('policy', () => shapeOf(config.policy.path));
  if (shape) add(...checkMemory(shape, config, memoryLimit(config)), ...checkContext(shape, config));
  if (tools) add(...((await part('tools', () => checkTools(tools, train?.tasks[0], config.tools))) ?? []));
  const { results, ownReward } = await checkOwnReward(config.reward);
  add(...results);
  if (ownReward && ownReward !== 'broken') opened.push(() => ownReward.close());
  if (options.tries && tokenizer && tools && train)
    add(
      ...((await part('rollout', () => tryOut(examination, { tokenizer, tools, train, ownReward }))) ?? []),
    );
}

async function checkPrompts(
  tokenizer: RunTokenizer,
  train: Dataset,
  { config, heldOut, tags }: { config: Config; heldOut: Dataset | undefined; tags: readonly string[] },
): Promise<CheckResult[]> {
  return [
    ...checkTemplate(tokenizer, train),
    ...checkAppending(tokenizer, train),
    ...checkTags(tokenizer, tags),
    ...(await checkLengths(tokenizer, 'data.train', train, config)),
    ...(heldOut?.tasks.length ? await checkLengths(tokenizer, 'data.heldOut', heldOut, config) : []),
  ];
}

/** Opens the policy as training does, and grows trees from the first tasks of the first step. */
async function tryOut(
  { config, options, opened }: Examination,
  { train, ...parts }: Pick<Trial, 'tokenizer' | 'tools' | 'ownReward'> & { train: Dataset },
): Promise<CheckResult[]> {
  const { tokenizer, tools } = parts;
  const settings = engineSettings(config, 'training', {
    folder: config.policy.path,
    tokenizer,
    tags: tools.tags,
  });
  const { policy, info } = await options.equipment.openPolicy(settings);
  opened.push(() => policy.close());
  const fitting = await fitPrompts(train, tokenizer, config);
  const tasks = takeTasks(fitting, config, 1).slice(0, TRIED_TASKS);
  const about = ok(
    'policy',
    `${info.architecture} with ${whole(info.parameters)} parameters on ${info.device}.`,
  );
  return [about, ...(await checkRollout({ ...parts, config, tasks, policy }))];
}

/** Where the config file speaks of the result's key, for results that name no other place. */
function withPlace(result: CheckResult, file: string, text: string): CheckResult {
  if (result.key === undefined || result.line !== undefined || result.file !== undefined) return result;
  return { ...result, file, line: placeOfKey(text, result.key).line };
}

/** Whether a path is a config file and no run folder. */
export const isConfigFile = (path: string): boolean =>
  fs.statSync(path, { throwIfNoEntry: false })?.isFile() === true;
