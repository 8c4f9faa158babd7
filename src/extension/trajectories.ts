/** Trajectories as read-only documents, each read once while it is open. Knows nothing of tints, lenses or commands. */
import * as vscode from 'vscode';
import type { PathChange } from '../core/likelihood.ts';
import type { Pieces } from '../core/pieces.ts';
import type { TokenColumns, Tree } from '../core/types.ts';
import { toFailure } from '../protocol/channel.ts';
import { changeLines } from './changeText.ts';
import { TRAJECTORY } from './names.ts';
import type { Log } from './failures.ts';
import { inBackground, inFull } from './failures.ts';
import type { Trajectory } from './overlay.ts';
import type { ClipSettings } from './tokenFacts.ts';
import { addressOf, addressParts, type TrajectoryAddress } from './trajectoryAddress.ts';
import { layOut, lineOf } from './trajectoryText.ts';

/** Where trees, their columns and what else is known of a run come from. */
export interface TreeSource {
  /** Without columns where the tree still grows. */
  tree(runFolder: string, id: string): Promise<{ tree: Tree; columns?: TokenColumns }>;
  /** Undefined where the run has no vocabulary. */
  pieces(runFolder: string): Promise<Pieces | undefined>;
  /** Undefined where the run's configuration is not known. */
  clip(runFolder: string): ClipSettings | undefined;
  /** What two checkpoints make of the trajectory, where the address names them. */
  change(address: TrajectoryAddress): PathChange | undefined;
  /** A run folder whose trees may have grown; undefined: any. */
  readonly onDidChange: vscode.Event<string | undefined>;
}

/** A trajectory and the bytes of its run's vocabulary. */
export interface OpenTrajectory extends Trajectory {
  address: TrajectoryAddress;
  /** Absent where its text has no tokens. */
  pieces?: Pieces;
  clip?: ClipSettings;
  isGrowing: boolean;
}

export const trajectoryUri = (address: TrajectoryAddress): vscode.Uri =>
  vscode.Uri.from({ scheme: TRAJECTORY, ...addressParts(address) });

/** No token has a number: the columns of a tree without tokens. */
const NO_COLUMNS: TokenColumns = {
  ids: new Int32Array(),
  samplerLogProbs: new Float32Array(),
  trainerLogProbs: new Float32Array(),
  entropies: new Float32Array(),
};

export class Trajectories implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #source: TreeSource;
  readonly #open = new Map<string, Promise<OpenTrajectory>>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly #subscriptions: vscode.Disposable[];

  /** A document whose tree has grown. */
  readonly onDidChange = this.#changed.event;

  constructor(source: TreeSource, log: Log) {
    this.#source = source;
    this.#subscriptions = [
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(TRAJECTORY, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#open.delete(uri.toString())),
      source.onDidChange(runFolder => this.#follow(runFolder, log)),
    ];
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    try {
      return (await this.read(uri)).layout.text;
    } catch (error) {
      // An editor that was open before the window was loaded again shows the message alone, which lacks the way out.
      throw new Error(inFull(toFailure(error)), { cause: error });
    }
  }

  /** Those that grow are read again, until their tree is written. */
  #follow(runFolder: string | undefined, log: Log): void {
    for (const [key, reading] of this.#open) {
      const about = addressOf(vscode.Uri.parse(key).query).runFolder;
      if (runFolder === undefined || runFolder === about)
        inBackground(log, 'Growing trajectory', this.#readAgain(key, reading));
    }
  }

  async #readAgain(key: string, reading: Promise<OpenTrajectory>): Promise<void> {
    const before = await reading;
    if (!before.isGrowing) return;
    const after = await this.#load(before.address);
    // Another look may have been quicker, or the document may be closed by now.
    if (this.#open.get(key) !== reading || after.layout.text === before.layout.text) return;
    this.#open.set(key, Promise.resolve(after));
    this.#changed.fire(vscode.Uri.parse(key));
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
    const isGrowing = columns === undefined;
    const words = columns && pieces ? { ids: columns.ids, pieces } : undefined;
    const clip = this.#source.clip(address.runFolder);
    const change = this.#source.change(address);
    const above = change && words ? changeLines({ tree, path: address.path, ...words }, change) : [];
    return {
      address,
      tree,
      columns: columns ?? NO_COLUMNS,
      ...(words !== undefined && { pieces: words.pieces }),
      ...(clip !== undefined && { clip }),
      ...(change !== undefined && { change }),
      path: address.path,
      isGrowing,
      layout: layOut(tree, address.path, words, { isGrowing, above }),
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
