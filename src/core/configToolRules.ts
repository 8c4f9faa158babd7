/** What no two keys of tools and rewards may say together. Knows nothing of files or of how a tool is opened. */
import { exampleOf, type Config } from './configKeys.ts';
import { remove, set, type Remedy } from './configRemedy.ts';
import type { Rule } from './configRule.ts';
import type { OwnProgram } from './configTools.ts';

/** Tags that the text protocol itself uses. */
const RESERVED: readonly string[] = ['think', 'answer', 'result'];

/** Tags of the tools that a config has. */
export function toolTags({ tools }: Pick<Config, 'tools'>): string[] {
  const { corpus, url, cacheFile } = tools.search;
  return [
    ...(corpus !== '' || url !== '' || cacheFile !== '' ? ['search'] : []),
    ...(tools.python.enabled ? ['python'] : []),
    ...tools.custom.map(({ tag }) => tag),
  ];
}

export const TOOL_RULES: readonly Rule[] = [
  ({ tools: { search } }) =>
    search.corpus !== '' && search.url !== ''
      ? {
          keys: ['tools.search.url', 'tools.search.corpus'],
          message: 'A search tool looks in documents (corpus) or asks a retriever (url), not both.',
          fix: 'Remove one of tools.search.corpus and tools.search.url.',
          remedies: [remove('tools.search.url'), remove('tools.search.corpus')],
        }
      : undefined,
  ({ tools: { cassette } }) =>
    cassette.mode !== 'off' && cassette.file === ''
      ? {
          keys: ['tools.cassette.mode', 'tools.cassette.file'],
          message: `Mode ${cassette.mode} needs a recording, and tools.cassette.file is empty.`,
          fix: 'Name a file in tools.cassette.file, or set tools.cassette.mode to "off".',
          remedies: [
            set('tools.cassette.mode', 'off'),
            set('tools.cassette.file', exampleOf('tools.cassette.file')),
          ],
        }
      : undefined,
  config => {
    const tags = toolTags(config);
    const stray = Object.keys(config.tools.limits).find(tag => !tags.includes(tag));
    return stray === undefined
      ? undefined
      : {
          keys: ['tools.limits'],
          message: `A limit is given for ${stray}, but the tools are: ${tags.join(', ') || 'none'}.`,
          fix: `Remove ${stray} from tools.limits, or open the tool.`,
          remedies: [{ kind: 'remove', path: ['tools', 'limits', stray] }],
        };
  },
  config => {
    const { custom } = config.tools;
    const tags = [...RESERVED, ...toolTags(config)];
    const taken = tags.find((tag, index) => tags.indexOf(tag) < index);
    if (taken !== undefined)
      return {
        keys: ['tools.custom'],
        message: `The tag ${taken} is taken.`,
        fix: `Give the tool another tag than ${[...new Set(tags)].join(', ')}.`,
        remedies: [
          {
            kind: 'set',
            path: ['tools', 'custom', String(custom.findLastIndex(({ tag }) => tag === taken)), 'tag'],
            value: freeTag(taken, tags),
          },
        ],
      };
    const index = custom.findIndex(tool => programsIn(tool) !== 1);
    const wrong = custom[index];
    return wrong && ambiguous('tools.custom', ['tools', 'custom', String(index)], `Tool ${wrong.tag}`, wrong);
  },
  ({ reward: { custom } }) =>
    programsIn(custom) > 1
      ? ambiguous('reward.custom.command', ['reward', 'custom'], 'reward.custom', custom)
      : undefined,
];

export const programsIn = ({ module, command }: OwnProgram): number =>
  (module === '' ? 0 : 1) + (command.length > 0 ? 1 : 0);

function ambiguous(
  key: 'tools.custom' | 'reward.custom.command',
  path: readonly string[],
  what: string,
  program: OwnProgram,
): ReturnType<Rule> {
  const has = programsIn(program) === 0 ? 'neither a module nor a command' : 'both a module and a command';
  const remedies: Remedy[] =
    programsIn(program) === 0
      ? [
          { kind: 'set', path: [...path, 'command'], value: ['python3', 'mine.py'] },
          { kind: 'set', path: [...path, 'module'], value: 'mine.mjs' },
        ]
      : (['module', 'command'] as const).map(name => ({ kind: 'remove', path: [...path, name] }));
  return {
    remedies,
    keys: [key, 'reward.custom.module'],
    message: `${what} has ${has}.`,
    fix: 'Give it one of "module" (an ES module) and "command" (program and arguments).',
  };
}

/** The tag with the first number behind it that makes it another than those in use. */
function freeTag(tag: string, used: readonly string[]): string {
  let number = 2;
  while (used.includes(`${tag}${number}`)) number++;
  return `${tag}${number}`;
}
