/**
 * Everything that a run would be refused for and that shows without starting anything: the text, its keys, the files that it
 * names, and what its policy's shape asks for. Knows nothing of editors; tools and data are left to the doctor.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../core/config.ts';
import type { ConfigKey } from '../core/configKeys.ts';
import { set, type Remedy } from '../core/configRemedy.ts';
import type { ModelShape } from '../core/modelShape.ts';
import { FailureError } from '../core/types.ts';
import { checkConfigText, missingFiles, missingIn, placeOfKey, type LocatedProblem } from './configFile.ts';
import { checkContext, checkMemory, memoryLimit, mostResponseTokens, shapeOf } from './plan.ts';

export interface ExaminedConfig {
  problems: readonly LocatedProblem[];
  /** Paths resolved; absent where the text has mistakes of its own. */
  config?: Config;
  /** Of the policy; absent where it cannot be read. */
  shape?: ModelShape;
}

/** Examines a text as the content of the file, which need not be saved. */
export function examineConfig(text: string, file: string): ExaminedConfig {
  const checked = checkConfigText(text, file);
  if ('problems' in checked) return { problems: [...checked.problems, ...missingIn(text, file)] };
  const { config } = checked;
  const problems = missingFiles(config, text);
  if (problems.some(({ key }) => key === 'policy.path')) return { problems, config };
  const read = readPolicy(config.policy.path);
  if ('problem' in read)
    return { problems: [...problems, at(text, 'policy.path', 'policy', read.problem)], config };
  return { problems: [...problems, ...misfits(read.shape, config, text)], config, shape: read.shape };
}

type Told = Pick<LocatedProblem, 'message' | 'fix'>;

const at = (
  text: string,
  key: ConfigKey,
  code: LocatedProblem['code'],
  told: Told,
  remedies: readonly Remedy[] = [],
): LocatedProblem => ({ ...placeOfKey(text, key), key, code, ...told, remedies });

function readPolicy(folder: string): { shape: ModelShape } | { problem: Told } {
  const refuse = (message: string): { problem: Told } => ({
    problem: {
      message,
      fix: 'Name a folder in Hugging Face layout: config.json, model.safetensors, tokenizer.json.',
    },
  });
  if (!statSync(folder).isDirectory()) return refuse(`names ${folder}, which is not a folder.`);
  const missing = ['config.json', 'tokenizer.json'].find(name => !existsSync(join(folder, name)));
  if (missing !== undefined) return refuse(`names ${folder}, which has no ${missing}.`);
  if (!readdirSync(folder).some(name => name.endsWith('.safetensors')))
    return refuse(`names ${folder}, which has no model.safetensors.`);
  try {
    return { shape: shapeOf(folder) };
  } catch (error) {
    if (!(error instanceof FailureError))
      return refuse(`${folder}/config.json cannot be read: ${String(error)}.`);
    const { message, fix } = error.failure;
    return fix === undefined ? refuse(message) : { problem: { message, fix } };
  }
}

/** What asks for more than the policy's context or the machine's memory. */
function misfits(shape: ModelShape, config: Config, text: string): LocatedProblem[] {
  const limit = memoryLimit(config);
  const most = mostResponseTokens(shape, config, limit);
  const remedies = most === undefined ? [] : [set('rollout.maxResponseTokens', most)];
  return [...checkContext(shape, config), ...checkMemory(shape, config, limit)].flatMap(
    ({ id, status, message, fix = '' }) =>
      status === 'error'
        ? [
            at(
              text,
              'rollout.maxResponseTokens',
              id === 'memory' ? 'memory' : 'context',
              { message, fix },
              remedies,
            ),
          ]
        : [],
  );
}
