/** Asks for preset, data, policy, tools, budget and device, and writes a configuration that says so. Knows nothing of the text itself. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import * as vscode from 'vscode';
import type { Preset } from '../core/configKeys.ts';
import { KEYS } from '../core/configKeys.ts';
import { toFailure } from '../protocol/channel.ts';
import { FILES } from '../run/layout.ts';
import { shapeOf } from '../run/plan.ts';
import { choose, enter, inSteps, type Step } from './multiStep.ts';
import { COMMANDS, CONFIG_SUFFIX } from './names.ts';
import {
  BUDGETS,
  configurationText,
  isCorpusName,
  isHeldOutName,
  lengthsFor,
  nameProblem,
  PRESET_SENTENCES,
  type Answers,
} from './newConfiguration.ts';

/** Files of one kind that are offered. */
const MOST_FILES = 100;
const SKIPPED = '**/{node_modules,.git,runs,checkpoints,trajectories}/**';

interface Draft {
  folder: vscode.Uri;
  preset: Preset;
  name: string;
  /** By question, so that one that is answered again replaces its own. */
  answers: Record<'data' | 'policy' | 'tools' | 'budget' | 'device', Answers>;
}

interface Choice extends vscode.QuickPickItem {
  answers: Answers;
  /** True for what is looked for in a dialog of the system. */
  browses?: boolean;
}

/** The file that was made; undefined where the user left a question unanswered. */
export async function newConfiguration(): Promise<vscode.Uri | undefined> {
  const title = COMMANDS.newConfiguration.title;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri ?? (await askFolder(title));
  if (folder === undefined) return undefined;
  const draft: Draft = {
    ...{ folder, preset: 'arpo', name: freeName(folder) },
    answers: { data: {}, policy: {}, tools: {}, budget: {}, device: {} },
  };
  const files = await taskFiles(folder);
  const policies = await policyFolders(folder);
  const steps = [
    presetStep,
    dataStep(files.filter(path => !isCorpusName(path))),
    policyStep(policies),
    toolStep(files.filter(isCorpusName)),
    budgetStep,
    deviceStep,
    nameStep,
  ].map(
    (step): Step =>
      place =>
        step(draft)(place),
  );
  if (!(await inSteps(title, steps))) return undefined;
  const file = fileOf(draft, draft.name);
  const answers = Object.assign({}, ...Object.values(draft.answers)) as Answers;
  const text = configurationText(draft.preset, draft.name, answers);
  await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(text));
  await vscode.window.showTextDocument(file);
  return file;
}

const fileOf = ({ folder }: Pick<Draft, 'folder'>, name: string): vscode.Uri =>
  vscode.Uri.joinPath(folder, `${name}${CONFIG_SUFFIX}`);

function freeName(folder: vscode.Uri): string {
  let number = 1;
  const name = (): string => (number === 1 ? 'my-run' : `my-run-${number}`);
  while (existsSync(fileOf({ folder }, name()).fsPath)) number++;
  return name();
}

const presetStep = (draft: Draft): Step => {
  const items = Object.entries(PRESET_SENTENCES).map(([label, detail]) => ({ label, detail }));
  return place =>
    choose(place, {
      placeholder: 'Preset that the run starts from',
      items,
      chosen: items.filter(({ label }) => label === draft.preset),
      take([chosen]) {
        if (chosen === undefined) return false;
        draft.preset = chosen.label as Preset;
        return true;
      },
    });
};

const dataStep =
  (files: readonly string[]) =>
  (draft: Draft): Step =>
  place => {
    const tasks = files.filter(path => !isHeldOutName(path)).map(path => taskChoice(path, files));
    return one(place, draft, 'data', 'Training tasks: Parquet or JSON Lines', [
      ...tasks,
      ...elsewhere('data.train', { 'data.heldOut': '', 'evaluation.tasks': 0 }),
    ]);
  };

/** Tasks to train on, and beside them those to measure on. */
function taskChoice(path: string, files: readonly string[]): Choice {
  const heldOut = files.find(other => dirname(other) === dirname(path) && isHeldOutName(other));
  return heldOut === undefined
    ? {
        ...{ label: path, detail: 'No held-out tasks lie beside it, so that nothing is measured.' },
        answers: { 'data.train': path, 'data.heldOut': '', 'evaluation.tasks': 0 },
      }
    : {
        ...{ label: path, detail: `Measured on ${heldOut}.` },
        answers: { 'data.train': path, 'data.heldOut': heldOut, 'evaluation.tasks': 100 },
      };
}

const policyStep =
  (folders: readonly string[]) =>
  (draft: Draft): Step =>
  place =>
    one(place, draft, 'policy', 'Policy to train, in Hugging Face layout', [
      ...folders.map(path => policyChoice(draft.folder, path)),
      ...elsewhere('policy.path', {}),
    ]);

/** The folder, and lengths that fit its context; why it cannot be trained, where it cannot. */
function policyChoice(folder: vscode.Uri, path: string): Choice {
  const label = path;
  try {
    const { contextLength } = shapeOf(resolve(folder.fsPath, path));
    return { label, answers: { 'policy.path': path, ...lengthsFor(contextLength) } };
  } catch (error) {
    return { label, detail: `$(warning) ${toFailure(error).message}`, answers: { 'policy.path': path } };
  }
}

const toolStep =
  (corpora: readonly string[]) =>
  (draft: Draft): Step =>
  place => {
    const python: Choice = {
      label: 'Python',
      detail: 'Runs what the policy writes, in a sandbox.',
      answers: { 'tools.python.enabled': true },
    };
    const searches = [
      ...corpora.map((path): Choice => ({
        ...{ label: `Search in ${path}`, detail: 'Finds documents by their words, on this machine.' },
        answers: { 'tools.search.corpus': path },
      })),
      {
        ...{
          label: 'Search by a retriever',
          detail: 'Asks a server, at first http://127.0.0.1:8000/retrieve.',
        },
        answers: { 'tools.search.url': 'http://127.0.0.1:8000/retrieve' },
      },
    ];
    const before = draft.answers.tools;
    const isBefore = ({ answers }: Choice): boolean =>
      Object.entries(answers).every(([key, value]) => before[key as keyof Answers] === value);
    const isFirst = Object.keys(before).length === 0;
    return choose<Choice>(place, {
      placeholder: 'Tools that the policy may call; at most one of them searches',
      items: [python, ...searches],
      chosen: isFirst
        ? [python, ...searches.slice(0, corpora.length > 0 ? 1 : 0)]
        : [python, ...searches].filter(isBefore),
      many: true,
      take(chosen) {
        if (chosen.filter(choice => choice !== python).length > 1) return false;
        const none = { 'tools.python.enabled': false, 'tools.search.corpus': '' };
        draft.answers.tools = Object.assign(none, ...chosen.map(({ answers }) => answers)) as Answers;
        return true;
      },
    });
  };

const budgetStep =
  (draft: Draft): Step =>
  place =>
    one(place, draft, 'budget', 'How much a step and the run take', BUDGETS);

const deviceStep =
  (draft: Draft): Step =>
  place =>
    one(place, draft, 'device', 'What the engine computes on', [
      { label: 'auto', detail: KEYS.device.choices.auto, answers: { device: 'auto' } },
      { label: 'cpu', detail: KEYS.device.choices.cpu, answers: { device: 'cpu' } },
    ]);

const nameStep =
  (draft: Draft): Step =>
  place =>
    enter(place, {
      prompt: 'Name of the runs; their folders are called NAME-1, NAME-2 and so on',
      value: draft.name,
      problem: name =>
        nameProblem(name) ??
        (existsSync(fileOf(draft, name).fsPath) ? `${name}${CONFIG_SUFFIX} is there already.` : undefined),
      take(name) {
        draft.name = name;
      },
    });

/** A question with one answer, which is kept under the question's name. */
function one(
  place: Parameters<Step>[0],
  draft: Draft,
  question: keyof Draft['answers'],
  placeholder: string,
  items: readonly Choice[],
): ReturnType<Step> {
  const before = JSON.stringify(draft.answers[question]);
  return choose(place, {
    placeholder,
    items,
    chosen: items.filter(({ answers }) => JSON.stringify(answers) === before),
    async take([chosen]) {
      if (chosen === undefined) return false;
      const answers = chosen.browses === true ? await browse(draft, chosen.answers) : chosen.answers;
      if (answers === undefined) return false;
      draft.answers[question] = answers;
      return true;
    },
  });
}

/** What is not in the workspace: to be looked for, or to be written into the file later. */
const elsewhere = (key: 'data.train' | 'policy.path', more: Answers): Choice[] => [
  {
    label: '$(folder-opened) Browse…',
    detail: 'Something outside of this workspace',
    answers: { [key]: '', ...more },
    browses: true,
  },
  { label: '$(edit) Write it into the file later', detail: 'The file begins with a stand-in', answers: more },
];

/** The answers with the path that the user picked; undefined where none was. */
async function browse(draft: Draft, answers: Answers): Promise<Answers | undefined> {
  const isPolicy = Object.hasOwn(answers, 'policy.path');
  const [found] =
    (await vscode.window.showOpenDialog({
      canSelectFolders: isPolicy,
      canSelectFiles: !isPolicy,
      openLabel: 'Use This',
      ...(!isPolicy && { filters: { Tasks: ['parquet', 'jsonl', 'json'] } }),
    })) ?? [];
  if (found === undefined) return undefined;
  const path = relativeTo(draft.folder, found);
  return isPolicy ? policyChoice(draft.folder, path).answers : { ...answers, 'data.train': path };
}

const relativeTo = (folder: vscode.Uri, { fsPath }: vscode.Uri): string =>
  relative(folder.fsPath, fsPath).split(sep).join('/') || '.';

/** Files that may hold tasks or documents, relative to the folder. */
async function taskFiles(folder: vscode.Uri): Promise<string[]> {
  const pattern = new vscode.RelativePattern(folder, '**/*.{parquet,jsonl}');
  const found = await vscode.workspace.findFiles(pattern, SKIPPED, MOST_FILES);
  // A run's own files are no data.
  const own = found.filter(({ fsPath }) => !existsSync(join(dirname(fsPath), FILES.manifest)));
  return own.map(uri => relativeTo(folder, uri)).sort();
}

async function policyFolders(folder: vscode.Uri): Promise<string[]> {
  const pattern = new vscode.RelativePattern(folder, '**/tokenizer.json');
  const found = await vscode.workspace.findFiles(pattern, SKIPPED, MOST_FILES);
  return found
    .map(({ fsPath }) => dirname(fsPath))
    .filter(
      path =>
        existsSync(`${path}/config.json`) && readdirSync(path).some(name => name.endsWith('.safetensors')),
    )
    .map(path => relativeTo(folder, vscode.Uri.file(path)))
    .sort();
}

async function askFolder(title: string): Promise<vscode.Uri | undefined> {
  const chosen = await vscode.window.showOpenDialog({
    canSelectFolders: true,
    canSelectFiles: false,
    openLabel: 'Put It Here',
    title,
  });
  return chosen?.[0];
}
