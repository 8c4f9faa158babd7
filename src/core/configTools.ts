/** The keys of tools and rewards, those of the user's own included. Knows nothing of how either is opened. */
import {
  amount,
  choice,
  count,
  flag,
  MILLION,
  path,
  REWARD,
  type KeyOf,
  type TextKey,
  type WordsKey,
} from './configSpecs.ts';

/** A program of the user's own: a module or a command, never both. */
export interface OwnProgram {
  /** File of an ES module; '' for none. */
  module: string;
  /** Program and arguments, started without a shell; empty for none. */
  command: readonly string[];
  /** Folder that the command runs in. */
  folder: string;
}

/** A tool of the user's own. */
export interface OwnTool extends OwnProgram {
  /** `calculator` for <calculator>…</calculator>. */
  tag: string;
}

export interface ToolsConfig {
  /** Executed calls per trajectory. */
  callLimit: number;
  /** By tag: executed calls of that tool per trajectory; tools that are not named have only callLimit. */
  limits: Readonly<Record<string, number>>;
  timeoutSeconds: number;
  concurrency: number;
  /** Further attempts at a call that failed for a passing reason. */
  retries: number;
  /** File of results that runs share; '' for none. */
  cache: string;
  cassette: { mode: 'off' | 'record' | 'replay' | 'replay-or-record'; file: string };
  python: { enabled: boolean; sandbox: 'auto' | 'bubblewrap' | 'pyodide'; memoryMB: number };
  /** No search tool where corpus, url and cacheFile are all ''. */
  search: { corpus: string; url: string; cacheFile: string; results: number; resultCharacters: number };
  custom: readonly OwnTool[];
}

export interface RewardConfig {
  accuracy: 'auto' | 'f1' | 'exact' | 'number';
  formatPenalty: number;
  multiToolBonus: number;
  /** In place of the reward that the keys above describe; not used where it names neither module nor command. */
  custom: OwnProgram & { timeoutSeconds: number };
}

/** What a tool may be called. */
const TAG: TextKey = {
  kind: 'text',
  default: '',
  isRequired: true,
  description: 'Tag that calls it: calculator for <calculator>…</calculator>.',
  pattern: '^[a-z][a-z0-9_]{0,31}$',
  patternMeaning: '1 to 32 lower-case letters, digits and underscores, the first a letter',
};

const OWN_MODULE = path(
  '',
  'ES module whose default export answers one object with another; empty where a command does.',
);
const OWN_COMMAND: WordsKey = {
  kind: 'words',
  default: [],
  description:
    'Program and arguments, started without a shell, that answer one JSON object per line; empty where a module does.',
};
const OWN_FOLDER: TextKey = {
  ...path('.', 'Folder that the command runs in; that of the config file where absent.'),
  isRequired: true,
};

type Keys<T extends string, V> = { readonly [K in keyof V & string as `${T}.${K}`]: KeyOf<V[K]> };

const SEARCH_KEYS: Keys<'tools.search', ToolsConfig['search']> = {
  'tools.search.corpus': path('', 'Documents that the search tool looks in, as JSONL; empty for none.'),
  'tools.search.url': {
    kind: 'text',
    default: '',
    description:
      'Retriever that the search tool asks, in the protocol of Search-R1 and verl: http://localhost:8000/retrieve; empty for none.',
    pattern: '^(https?://.+)?$',
    patternMeaning: 'an address that begins with http:// or https://, or empty',
  },
  'tools.search.cacheFile': path(
    '',
    'Answers that the search tool looks up first: one JSON object of texts by query, such as ARPO’s own search cache; empty for none.',
  ),
  'tools.search.results': count(3, 1, 100, 'Documents of one search result.'),
  'tools.search.resultCharacters': count(
    2000,
    1,
    MILLION,
    'Characters of one search result; what is longer is cut.',
  ),
};

const PYTHON_KEYS: Keys<'tools.python', ToolsConfig['python']> = {
  'tools.python.enabled': flag(true, 'Whether the policy may run Python.'),
  'tools.python.sandbox': choice('auto', 'What confines the Python tool.', {
    auto: 'bubblewrap where it works, else pyodide.',
    bubblewrap: 'CPython in a Linux sandbox without network.',
    pyodide: 'Python compiled to WebAssembly in a locked-down process; on every system.',
  }),
  'tools.python.memoryMB': count(512, 32, MILLION, 'Memory of one Python call, in MB.'),
};

const CALL_KEYS: Keys<'tools', Omit<ToolsConfig, 'cassette' | 'python' | 'search'>> &
  Keys<'tools.cassette', ToolsConfig['cassette']> = {
  'tools.callLimit': count(
    3,
    0,
    1000,
    'Executed tool calls of one trajectory, those before its branch included.',
  ),
  'tools.limits': {
    kind: 'counts',
    default: {},
    minimum: 0,
    maximum: 1000,
    description:
      'Executed calls of single tools per trajectory, by tag, such as { "search": 2 }; `callLimit` holds beside them.',
  },
  'tools.timeoutSeconds': {
    ...amount(30, 0, 86_400, 'Seconds after which a tool call is given up.'),
    aboveMinimum: true,
  },
  'tools.concurrency': count(4, 1, 4096, 'Tool calls that run at the same time.'),
  'tools.retries': count(
    2,
    0,
    20,
    'Further attempts at a call that failed for a passing reason, such as a busy server; an empty result is no failure.',
  ),
  'tools.cache': path(
    '',
    'SQLite file that keeps the results of tool calls for every run that names it; empty for none.',
  ),
  'tools.cassette.mode': choice('off', 'Whether tool calls are recorded, or answered by a recording.', {
    off: 'Neither.',
    record: 'Every call is executed and recorded.',
    replay: 'Only the recording answers: a call that is not in it fails, and no tool is opened.',
    'replay-or-record': 'The recording answers; a call that is not in it is executed and recorded.',
  }),
  'tools.cassette.file': {
    ...path(
      '',
      'The recording, as JSON lines; needed by every mode but `off`. One worker may record in it at a time.',
    ),
    example: 'tools.jsonl',
  },
  'tools.custom': {
    kind: 'list',
    default: [],
    description: 'Tools of your own, each with a tag and a module or a command.',
    items: { tag: TAG, module: OWN_MODULE, command: OWN_COMMAND, folder: OWN_FOLDER },
  },
};

export const TOOL_KEYS = { ...CALL_KEYS, ...PYTHON_KEYS, ...SEARCH_KEYS };

export const REWARD_KEYS: Keys<'reward', Omit<RewardConfig, 'custom'>> &
  Keys<'reward.custom', RewardConfig['custom']> = {
  'reward.accuracy': choice('auto', 'How an answer is compared with the references.', {
    auto: '`number` for tasks of ability math or calculation, else `f1`.',
    f1: 'Overlap of words, as the released code scores every task.',
    exact: 'Equal after lower-casing and without articles and punctuation.',
    number: 'Equal as numbers.',
  }),
  'reward.formatPenalty': {
    ...amount(-1, -100, 0, 'Reward of a trajectory whose format is wrong.'),
    section: REWARD,
  },
  'reward.multiToolBonus': {
    ...amount(0.1, 0, 100, 'Added to a right answer whose trajectory used more than one tool.'),
    symbol: 'r_M',
    section: REWARD,
  },
  'reward.custom.module': OWN_MODULE,
  'reward.custom.command': OWN_COMMAND,
  'reward.custom.folder': OWN_FOLDER,
  'reward.custom.timeoutSeconds': {
    ...amount(30, 0, 86_400, 'Seconds after which a reward of your own is given up.'),
    aboveMinimum: true,
  },
};
