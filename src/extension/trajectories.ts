/** Trajectories as read-only documents, each read once while it is open. Knows nothing of tints, lenses or commands. */
import * as vscode from 'vscode';
import type { Pieces } from '../core/pieces.ts';
import type { TokenColumns, Tree } from '../core/types.ts';
import { TRAJECTORY } from './names.ts';
import type { Trajectory } from './overlay.ts';
import { addressOf, addressParts, type TrajectoryAddress } from './trajectoryAddress.ts';
import { layOut, lineOf } from './trajectoryText.ts';

/** Where trees, their columns and the pieces of a run come from. */
export interface TreeSource {
  tree(runFolder: string, id: string): Promise<{ tree: Tree; columns: TokenColumns }>;
  pieces(runFolder: string): Promise<Pieces>;
}

/** A trajectory and the bytes of its run's vocabulary. */
export interface OpenTrajectory extends Trajectory {
  address: TrajectoryAddress;
  pieces: Pieces;
}

export const trajectoryUri = (address: TrajectoryAddress): vscode.Uri =>
  vscode.Uri.from({ scheme: TRAJECTORY, ...addressParts(address) });

export class Trajectories implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #source: TreeSource;
  readonly #open = new Map<string, Promise<OpenTrajectory>>();
  readonly #subscriptions: vscode.Disposable[];

  constructor(source: TreeSource) {
    this.#source = source;
    this.#subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider(TRAJECTORY, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#open.delete(uri.toString())),
    ];
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    return (await this.read(uri)).layout.text;
  }

  /** The trajectory of a document; the same object for as long as the document is open. */
  read(uri: vscode.Uri): Promise<OpenTrajectory> {
    const key = uri.toString();
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const reading = this.#load(addressOf(uri.query));
    this.#open.set(key, reading);
    // One that could not be read is read again when it is asked for again; whoever awaits it is told.
    reading.catch(() => this.#open.delete(key));
    return reading;
  }

  /** As read, but what no document shows is not kept. */
  async look(uri: vscode.Uri): Promise<OpenTrajectory> {
    const key = uri.toString();
    return this.#open.get(key) ?? this.#load(addressOf(uri.query));
  }

  /** Opens a trajectory beside or in place, at a segment's heading where one is named. */
  async show(address: TrajectoryAddress, segment?: number): Promise<vscode.TextEditor> {
    const uri = trajectoryUri(address);
    const { layout } = await this.read(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document, { preview: true });
    const place = layout.segments.find(place => place.segment === segment);
    if (place !== undefined) {
      const at = new vscode.Position(place.heading, 0);
      editor.selection = new vscode.Selection(at, at);
      editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.AtTop);
    }
    return editor;
  }

  async #load(address: TrajectoryAddress): Promise<OpenTrajectory> {
    const [{ tree, columns }, pieces] = await Promise.all([
      this.#source.tree(address.runFolder, address.tree),
      this.#source.pieces(address.runFolder),
    ]);
    return {
      address,
      tree,
      columns,
      pieces,
      path: address.path,
      layout: layOut(tree, address.path, columns.ids, pieces),
    };
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
    this.#open.clear();
  }
}

/** A range of the laid-out text; the same as the document's own, without asking it. */
export function rangeIn({ layout: { lineStarts } }: Trajectory, start: number, end: number): vscode.Range {
  const first = lineOf(lineStarts, start);
  const last = lineOf(lineStarts, end);
  return new vscode.Range(first, start - lineStarts[first]!, last, end - lineStarts[last]!);
}
