/** Asks a chain of questions in one place, with a way back and a counter. Knows nothing of what is asked. */
import * as vscode from 'vscode';

export type Said = 'next' | 'back' | 'cancelled';

/** One question; what was answered is kept by whoever asks. */
export type Step = (place: Place) => Promise<Said>;

export interface Place {
  title: string;
  step: number;
  totalSteps: number;
}

/** False where the user left a question unanswered. */
export async function inSteps(title: string, steps: readonly Step[]): Promise<boolean> {
  let at = 0;
  while (at < steps.length) {
    const said = await steps[at]!({ title, step: at + 1, totalSteps: steps.length });
    if (said === 'cancelled') return false;
    at = Math.max(0, said === 'back' ? at - 1 : at + 1);
  }
  return true;
}

interface Question<T extends vscode.QuickPickItem> {
  placeholder: string;
  items: readonly T[];
  /** What was chosen before, or is likely. */
  chosen: readonly T[];
  /** True where several may be chosen, or none. */
  many?: boolean;
  /** Takes the answer; returns false to ask again. */
  take(chosen: readonly T[]): unknown;
}

/** Asks with a list. */
export function choose<T extends vscode.QuickPickItem>(
  place: Place,
  { placeholder, items, chosen, many = false, take }: Question<T>,
): Promise<Said> {
  const pick = vscode.window.createQuickPick<T>();
  Object.assign(pick, { ...place, placeholder, items, canSelectMany: many, ignoreFocusOut: true });
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  if (many) pick.selectedItems = chosen;
  else if (chosen.length > 0) pick.activeItems = chosen;
  return ask(pick, place, async () => (await take(many ? pick.selectedItems : pick.activeItems)) !== false);
}

/** Asks for a text; `problem` says why one cannot be taken. */
export function enter(
  place: Place,
  text: {
    prompt: string;
    value: string;
    problem(value: string): string | undefined;
    take(value: string): void;
  },
): Promise<Said> {
  const box = vscode.window.createInputBox();
  Object.assign(box, { ...place, prompt: text.prompt, value: text.value, ignoreFocusOut: true });
  const check = (): string | undefined => (box.validationMessage = text.problem(box.value));
  box.onDidChangeValue(check);
  return ask(box, place, () => {
    if (check() !== undefined) return Promise.resolve(false);
    text.take(box.value);
    return Promise.resolve(true);
  });
}

/** Shows a question until it is answered, gone back from or left. */
function ask(
  input: vscode.QuickInput & {
    buttons: readonly vscode.QuickInputButton[];
    onDidAccept: vscode.Event<void>;
    onDidTriggerButton: vscode.Event<vscode.QuickInputButton>;
  },
  { step }: Place,
  accept: () => Promise<boolean>,
): Promise<Said> {
  if (step > 1) input.buttons = [vscode.QuickInputButtons.Back];
  return new Promise<Said>((resolve, reject) => {
    const end = (said: Said): void => {
      resolve(said);
      input.dispose();
    };
    input.onDidAccept(() => {
      if (input.busy) return;
      // A dialog of the system may take the focus meanwhile; the question waits for it.
      input.busy = true;
      accept().then(
        isTaken => {
          if (isTaken) return end('next');
          input.busy = false;
          input.show();
        },
        (error: unknown) => {
          reject(error instanceof Error ? error : new Error(String(error)));
          input.dispose();
        },
      );
    });
    input.onDidTriggerButton(() => end('back'));
    input.onDidHide(() => {
      if (!input.busy) end('cancelled');
    });
    input.show();
  });
}
