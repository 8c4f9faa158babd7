/** Quick fixes, lenses and inlay hints of configurations, and their check when they are saved. Knows nothing of what the keys mean. */
import * as vscode from 'vscode';
import { remedyTitle } from '../core/configRemedy.ts';
import { editsOf } from '../run/configEdit.ts';
import type { LocatedProblem } from '../run/configFile.ts';
import type { App } from './app.ts';
import { CONFIG_SELECTOR, isConfig, rangeOf } from './configDocuments.ts';
import { configHints } from './configHints.ts';
import { inBackground } from './failures.ts';
import { commandId, type CommandName } from './names.ts';

export function registerConfigFeatures(app: App): vscode.Disposable {
  const { checks, configs, dryRuns, log } = app;
  return vscode.Disposable.from(
    vscode.languages.registerCodeActionsProvider(
      CONFIG_SELECTOR,
      {
        provideCodeActions: (document, range) =>
          isConfig(document)
            ? configs
                .examined(document)
                .problems.filter(problem => rangeOf(document, problem).intersection(range) !== undefined)
                .flatMap(problem => fixesOf(document, problem))
            : [],
      },
      { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] },
    ),
    vscode.languages.registerCodeLensProvider(CONFIG_SELECTOR, {
      provideCodeLenses: document => (isConfig(document) ? lensesOf(document) : []),
    }),
    vscode.languages.registerInlayHintsProvider(CONFIG_SELECTOR, {
      onDidChangeInlayHints: dryRuns.onDidChange,
      provideInlayHints: (document, range) => (isConfig(document) ? hintsOf(app, document, range) : []),
    }),
    vscode.workspace.onDidSaveTextDocument(document => {
      // The check opens the tools that the configuration names, which needs trust.
      if (isConfig(document) && vscode.workspace.isTrusted)
        inBackground(log, 'Check', checks.check(document.uri.fsPath, { quick: true }));
    }),
  );
}

/** One action for each change that would mend the problem and that the text has a place for. */
function fixesOf(document: vscode.TextDocument, problem: LocatedProblem): vscode.CodeAction[] {
  const text = document.getText();
  const range = rangeOf(document, problem);
  const about = vscode.languages
    .getDiagnostics(document.uri)
    .filter(({ code, range: place }) => code === problem.code && place.isEqual(range));
  return problem.remedies.flatMap((remedy, index) => {
    const edits = editsOf(text, remedy);
    if (edits.length === 0) return [];
    const action = new vscode.CodeAction(remedyTitle(remedy), vscode.CodeActionKind.QuickFix);
    action.edit = new vscode.WorkspaceEdit();
    for (const { content, ...place } of edits)
      action.edit.replace(document.uri, rangeOf(document, place), content);
    action.diagnostics = about;
    action.isPreferred = index === 0;
    return [action];
  });
}

const LENSES: readonly [CommandName, title: string, tooltip: string][] = [
  ['launchRun', '$(play) Launch', 'Start a run; it goes on when this window closes'],
  ['dryRun', 'Dry Run', 'Do one step, measure its time and memory, keep nothing'],
  ['validateConfiguration', 'Validate', 'Look at all that the run will need, and try a few trajectories'],
  ['cloneConfiguration', 'Clone', 'Copy this configuration under another name'],
];

function lensesOf({ uri }: vscode.TextDocument): vscode.CodeLens[] {
  const top = new vscode.Range(0, 0, 0, 0);
  return LENSES.map(
    ([name, title, tooltip]) =>
      new vscode.CodeLens(top, { title, tooltip, command: commandId(name), arguments: [uri] }),
  );
}

function hintsOf(
  { configs, dryRuns }: App,
  document: vscode.TextDocument,
  range: vscode.Range,
): vscode.InlayHint[] {
  const text = document.getText();
  return configHints(configs.examined(document), text, dryRuns.of(document.uri.fsPath, text)).flatMap(
    ({ offset, label, tooltip }) => {
      const position = document.positionAt(offset);
      if (!range.contains(position)) return [];
      const hint = new vscode.InlayHint(position, label);
      hint.tooltip = tooltip;
      hint.paddingLeft = true;
      return [hint];
    },
  );
}
