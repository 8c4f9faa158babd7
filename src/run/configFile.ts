/** Reads NAME.branchpoint.json and says where in its text a problem is. Knows nothing of what the keys mean. */
import * as fs from 'node:fs';
import { basename, dirname, relative, resolve } from 'node:path';
import type { Node, ParseError } from 'jsonc-parser';
import { findNodeAtLocation, getNodeValue, parseTree, printParseErrorCode } from 'jsonc-parser';
import type { Config, ConfigProblem } from '../core/config.ts';
import { problemText, validate } from '../core/config.ts';
import { isRequired, KEYS, type ConfigKey } from '../core/configKeys.ts';
import { remove, type Remedy } from '../core/configRemedy.ts';
import { isObject } from '../core/configValues.ts';
import { programsIn } from '../core/configToolRules.ts';
import { FailureError } from '../core/types.ts';
import { mapPaths } from './manifest.ts';

export const CONFIG_SUFFIX = '.branchpoint.json';

export interface Place {
  /** From 1. */
  line: number;
  column: number;
  /** In UTF-16 units, as editors count. */
  offset: number;
  length: number;
}

/** A problem and its place in the file's text. */
export interface LocatedProblem extends Place {
  /** Dotted; '' where the text itself is broken. */
  key: string;
  code:
    ConfigProblem['code'] | 'not-json' | 'repeated-key' | 'missing-file' | 'policy' | 'context' | 'memory';
  message: string;
  fix: string;
  /** As of a ConfigProblem. */
  remedies: readonly Remedy[];
}

export type ReadConfig = { config: Config; text: string } | { problems: LocatedProblem[] };

/** `file:line:column key message fix` */
export function formatProblem(file: string, problem: LocatedProblem): string {
  const { line, column, fix } = problem;
  return `${file}:${line}:${column} ${problemText(problem)} ${fix}`;
}

/** The config with paths resolved, or its problems; files that it names must be there. Throws where it cannot be read. */
export function readConfigFile(file: string): ReadConfig {
  const text = readText(file, `Name a ${CONFIG_SUFFIX.slice(1)} file.`);
  const checked = checkConfigText(text, file);
  if ('problems' in checked) return { problems: [...checked.problems, ...missingIn(text, file)] };
  const problems = missingFiles(checked.config, text);
  return problems.length > 0 ? { problems } : { config: checked.config, text };
}

/** As readConfigFile, but its problems are thrown as one FailureError, one line each. */
export function loadConfig(file: string): { config: Config; text: string } {
  const read = readConfigFile(file);
  if ('config' in read) return read;
  const shown = relative(process.cwd(), file) || file;
  const message = read.problems.map(problem => formatProblem(shown, problem)).join('\n');
  throw new FailureError({ where: 'config', message });
}

/** Checks a text as the content of the file, which need not exist (an editor's unsaved text). No other file is looked at. */
export function checkConfigText(
  text: string,
  file: string,
): { config: Config } | { problems: LocatedProblem[] } {
  const errors: ParseError[] = [];
  const clean = text.replace(/^\uFEFF/, ' ');
  const root = parseTree(clean, errors, { allowTrailingComma: true, disallowComments: false });
  if (errors.length > 0 || !root) {
    const [first = { error: 4, offset: 0, length: 0 }] = errors;
    return { problems: [{ ...place(clean, first.offset, first.length), key: '', ...brokenText(first) }] };
  }
  const twice = repeatedKeys(root, [], clean);
  if (twice.length > 0) return { problems: twice };
  const checked = validate(withName(getNodeValue(root) as unknown, file));
  if ('problems' in checked)
    return {
      problems: checked.problems.map(({ path, at, ...problem }) => ({
        ...place(clean, ...spanOf({ path, at }, root)),
        ...problem,
      })),
    };
  return { config: mapPaths(checked.config, path => resolve(dirname(file), path)) };
}

/** A config without a name is called as its file, where that is a name. */
function withName(value: unknown, file: string): unknown {
  const name = basename(file).endsWith(CONFIG_SUFFIX) ? basename(file, CONFIG_SUFFIX) : undefined;
  if (name === undefined || !isObject(value) || Object.hasOwn(value, 'name')) return value;
  const spec = KEYS.name;
  return new RegExp(spec.pattern ?? '', 'u').test(name) ? { name, ...value } : value;
}

/** Throws a FailureError with this way out where the file is missing or cannot be read. */
export function readText(file: string, fix: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const message = isMissing
      ? `There is no file ${file}.`
      : `${file} cannot be read: ${(error as Error).message}`;
    throw new FailureError({ where: 'config', message, fix });
  }
}

/** Files that the config names and that are not there. Outputs need not be there yet. */
export function missingFiles(config: Config, text: string): LocatedProblem[] {
  const named: [string, string][] = [
    ['policy.path', config.policy.path],
    ['data.train', config.data.train],
    ['data.heldOut', config.data.heldOut],
    ['tools.search.corpus', config.tools.search.corpus],
    ['tools.search.cacheFile', config.tools.search.cacheFile],
    ['reward.custom.module', config.reward.custom.module],
    // A resolved configuration names the folder also where nothing of the user's own is run in it.
    ...(programsIn(config.reward.custom) > 0
      ? ([['reward.custom.folder', config.reward.custom.folder]] satisfies [string, string][])
      : []),
    ...config.tools.custom.flatMap(({ module, folder }, index): [string, string][] => [
      [`tools.custom.${index}.module`, module],
      [`tools.custom.${index}.folder`, folder],
    ]),
    ...(config.tools.cassette.mode === 'replay'
      ? ([['tools.cassette.file', config.tools.cassette.file]] satisfies [string, string][])
      : []),
  ];
  return named.flatMap(([key, path]) => missing(text, key, path));
}

/** Keys whose values are files that must be there, as far as they can be told without a configuration that holds. */
const FILE_KEYS = [
  ...(['policy.path', 'data.train', 'data.heldOut', 'tools.search.corpus'] as const),
  ...(['tools.search.cacheFile', 'reward.custom.module'] as const),
];

/** The same of a text whose keys have mistakes, so that nobody mends these to be told of the next. */
export function missingIn(text: string, file: string): LocatedProblem[] {
  const errors: ParseError[] = [];
  const root = parseTree(text.replace(/^\uFEFF/, ' '), errors, { allowTrailingComma: true });
  if (!root || errors.length > 0) return [];
  return FILE_KEYS.flatMap(key => {
    const value: unknown = nodeAt(root, key.split('.'))?.value;
    return typeof value === 'string'
      ? missing(text, key, value === '' ? '' : resolve(dirname(file), value))
      : [];
  });
}

function missing(text: string, key: string, path: string): LocatedProblem[] {
  if (path === '' || fs.existsSync(path)) return [];
  const message = `names ${path}, which does not exist.`;
  const fix = 'Correct the path; it is relative to this file.';
  const isOptional = Object.hasOwn(KEYS, key) && !isRequired(key as ConfigKey);
  const remedies: Remedy[] = isOptional ? [remove(key)] : [];
  return [{ ...placeOfKey(text, key), key, code: 'missing-file', message, fix, remedies }];
}

/** Where in a config's text a key's value stands, or the deepest part of the key that is there; its beginning where it has none. */
export function placeOfKey(text: string, key: string): Place {
  const root = parseTree(text.replace(/^\uFEFF/, ' '), [], { allowTrailingComma: true });
  if (!root) return place(text, 0, 0);
  return place(text, ...spanOf({ path: key.split('.'), at: 'value' }, root));
}

/** A key that is given twice: JSON would silently take the last. */
function repeatedKeys(node: Node, path: readonly string[], text: string): LocatedProblem[] {
  if (node.type !== 'object') return [];
  const seen = new Set<string>();
  return (node.children ?? []).flatMap(({ children: [name, value] = [] }) => {
    if (!name) return [];
    const here = [...path, String(name.value)];
    const message = 'is given twice.';
    const problem: LocatedProblem = {
      ...place(text, name.offset, name.length),
      key: here.join('.'),
      code: 'repeated-key',
      message,
      fix: 'Remove one of them.',
      remedies: [],
    };
    const isRepeated = seen.has(here.join('.'));
    seen.add(here.join('.'));
    return [...(isRepeated ? [problem] : []), ...(value ? repeatedKeys(value, here, text) : [])];
  });
}

/** Offset and length of the deepest part of the key that the text has: a missing key is shown at the group that lacks it. */
function spanOf({ path, at }: Pick<ConfigProblem, 'path' | 'at'>, root: Node): [number, number] {
  for (let depth = path.length; depth > 0; depth--) {
    const value = nodeAt(root, path.slice(0, depth));
    if (!value) continue;
    const name = value.parent?.type === 'property' ? value.parent.children![0]! : value;
    const node = depth === path.length && at === 'value' ? value : name;
    return [node.offset, node.length];
  }
  return [root.offset, 1];
}

/** The value that the steps lead to; a step into a list is its index. */
export function nodeAt(root: Node, steps: readonly string[]): Node | undefined {
  let node: Node | undefined = root;
  for (const step of steps)
    node = node && findNodeAtLocation(node, [node.type === 'array' ? Number(step) : step]);
  return node;
}

function place(text: string, offset: number, length: number): Place {
  const before = text.slice(0, offset).split(/\r\n|\r|\n/);
  return { line: before.length, column: before.at(-1)!.length + 1, offset, length };
}

function brokenText({
  error,
}: Pick<ParseError, 'error'>): Pick<LocatedProblem, 'code' | 'message' | 'fix' | 'remedies'> {
  const name = printParseErrorCode(error)
    .replaceAll(/([A-Z])/g, ' $1')
    .trim()
    .toLowerCase();
  return {
    code: 'not-json',
    message: `The text is not JSON: ${name}.`,
    fix: 'Correct it here; comments and trailing commas are allowed.',
    remedies: [],
  };
}
