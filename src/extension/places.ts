/** Where configurations and run folders are: the workspace, a setting, and what this window was shown before. Knows nothing of what a run is. */
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import * as vscode from 'vscode';
import { parse } from 'jsonc-parser';
import { defaults } from '../core/config.ts';
import { FILES } from '../run/layout.ts';
import { readManifest } from '../run/manifest.ts';
import { CONFIG_SUFFIX } from './names.ts';
import { setting } from './settings.ts';

/** Remembered over windows: folders outside the workspace that hold runs, and configurations of samples. */
const REMEMBERED = { runs: 'runsFolders', configs: 'configurations', imports: 'rolloutsFolders' } as const;
const MOST_CONFIGS = 200;

/** True for the copy of a configuration that a run folder keeps as a record. */
export const isRecord = (config: string): boolean =>
  basename(config) === FILES.config && existsSync(join(dirname(config), FILES.manifest));

/** The file that a run of ours was configured by, where it is still there; a recorded run's stands beside the folder of its runs. */
export function configOfRun(runFolder: string): string | undefined {
  const { configFile } = readManifest(runFolder);
  if (configFile !== undefined && existsSync(configFile)) return configFile;
  const project = dirname(dirname(runFolder));
  const [found, other] = readdirSync(project).filter(file => file.endsWith(CONFIG_SUFFIX));
  return found !== undefined && other === undefined ? join(project, found) : undefined;
}

export class Places {
  readonly #memory: vscode.Memento;

  constructor(memory: vscode.Memento) {
    this.#memory = memory;
  }

  /** Paths of run configurations, those of the workspace first. */
  async configs(): Promise<string[]> {
    const found = await vscode.workspace.findFiles(
      `**/*${CONFIG_SUFFIX}`,
      '**/{node_modules,.git}/**',
      MOST_CONFIGS,
    );
    const paths = [
      ...found.map(({ fsPath }) => fsPath).sort(),
      ...this.#remembered('configs').filter(existsSync),
    ];
    return [...new Set(paths)].filter(path => !isRecord(path));
  }

  /** Folders whose folders may be runs. */
  async runsFolders(): Promise<string[]> {
    const ofConfigs = await Promise.all((await this.configs()).map(runsFolderOf));
    const roots = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
    const ofSetting = (vscode.workspace.workspaceFolders ?? [undefined]).flatMap(folder =>
      setting('runsFolders', folder),
    );
    const set = ofSetting.flatMap(path =>
      isAbsolute(path) ? [path] : roots.map(root => resolve(root, path)),
    );
    return [...new Set([...ofConfigs, ...set, ...this.#remembered('runs')])];
  }

  /** Folders of other programs' rollouts that were opened here. */
  imports(): string[] {
    return this.#remembered('imports');
  }

  async forget(kind: keyof typeof REMEMBERED, path: string): Promise<void> {
    await this.#memory.update(
      REMEMBERED[kind],
      this.#remembered(kind).filter(known => known !== path),
    );
  }

  async remember(kind: keyof typeof REMEMBERED, path: string): Promise<void> {
    const known = this.#remembered(kind);
    if (!known.includes(path)) await this.#memory.update(REMEMBERED[kind], [...known, path]);
  }

  #remembered(kind: keyof typeof REMEMBERED): string[] {
    return this.#memory.get<string[]>(REMEMBERED[kind], []);
  }
}

/** Where a configuration's runs go, also while it is being written and not yet valid. */
async function runsFolderOf(config: string): Promise<string> {
  const value: unknown = parse(await readFile(config, 'utf8'), [], { allowTrailingComma: true });
  const runs =
    typeof value === 'object' && value !== null && 'runs' in value && typeof value.runs === 'string'
      ? value.runs
      : defaults().runs;
  return resolve(dirname(config), runs);
}
