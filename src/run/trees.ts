/** Writes trees with their token columns, and reads them back. Knows nothing of the journal or of how a tree grew. */
import { endianness } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Grown } from '../core/tree.ts';
import type { Alternatives, TokenColumns } from '../core/types.ts';
import { FailureError } from '../core/types.ts';
import type { AppendFile } from './disk.ts';
import { append, close, openAppend, statOf, sync, truncate } from './disk.ts';
import { FILES, TOKEN_BYTES } from './layout.ts';
import { lastWholeLine, readSpan } from './lines.ts';
import { entryOf, treeOfLine } from './offsets.ts';
import type { TokenSpan, TreeLine } from './treeShape.ts';
import { watchSeals } from './seals.ts';
import { record, sealed, text } from './shape.ts';
import { tokenBytes, treeLine } from './treeShape.ts';

export type { TokenSpan, TreeLine } from './treeShape.ts';

/** Bytes of a line of trees.jsonl, without its line feed. */
export interface Span {
  offset: number;
  length: number;
}

/** The files that trees go to, open for their one writer. */
export interface TreeFiles {
  trees: AppendFile;
  tokens: AppendFile;
  index: AppendFile;
}

/** Opens them behind the last tree that is whole: a torn last line, and tokens without a line, are cut off. */
export function openTrees(runFolder: string): TreeFiles {
  const path = join(runFolder, FILES.trees);
  const tokensPath = join(runFolder, FILES.tokens);
  const stored = statOf(tokensPath)?.size ?? 0;
  let last = lastWholeLine(path);
  let tokenEnd = 0;
  const trees = openAppend(path, last.end);
  while (last.line) {
    const { tokens } = treeOfLine(last.line, path);
    tokenEnd = tokens.offset + tokenBytes(tokens);
    if (tokenEnd <= stored) break;
    // The line reached the medium before a power cut, its tokens did not: such a tree never was.
    truncate(trees, last.line.offset);
    last = lastWholeLine(path);
    tokenEnd = 0;
  }
  // Entries behind the trees are dropped by whoever reads the index; a new one that does not follow would be, too.
  const index = openAppend(join(runFolder, FILES.treeIndex), indexEnd(runFolder, trees.length));
  return { trees, tokens: openAppend(tokensPath, tokenEnd), index };
}

/** Where a tree lies. */
export interface Placed {
  span: Span;
  tokens: TokenSpan;
}

/**
 * Appends the trees' tokens, then their lines, then their index entries, and says where they are. Throws where a tree and its
 * columns do not belong together or a number is not finite, before anything is written.
 */
export function writeTrees(files: TreeFiles, grown: readonly Grown[]): Placed[] {
  const ends = { tokens: files.tokens.length, trees: files.trees.length };
  const encoded = grown.map(({ tree, columns }) => {
    const bytes = encodeColumns(columns);
    const tokens = { offset: ends.tokens, ...extentOf(columns), crc: crc32(bytes) };
    const line = encodeTree({ ...tree, tokens });
    const span = { offset: ends.trees, length: line.length - 1 };
    ends.tokens += bytes.length;
    ends.trees += line.length;
    const entry = Buffer.from(`${sealed(JSON.stringify(entryOf(tree, span.offset, span.length)))}\n`);
    return { bytes, line, entry, placed: { span, tokens } };
  });
  try {
    append(files.tokens, Buffer.concat(encoded.map(({ bytes }) => bytes)));
    append(files.trees, Buffer.concat(encoded.map(({ line }) => line)));
    append(files.index, Buffer.concat(encoded.map(({ entry }) => entry)));
  } catch (error) {
    if (error instanceof FailureError) throw error;
    const [first, ...others] = grown.map(({ tree }) => tree.id);
    throw new FailureError({
      where: 'store',
      message: `Tree ${first}${others.length > 0 ? ` and ${others.length} more` : ''} cannot be written: ${(error as Error).message}`,
      fix: 'Free disk space or correct the folder’s rights, then resume the run.',
    });
  }
  return encoded.map(({ placed }) => placed);
}

/** Waits until all that was written is on the medium, tokens first. */
export function syncTrees({ tokens, trees }: TreeFiles): void {
  sync(tokens);
  sync(trees);
}

export function closeTrees(files: TreeFiles): void {
  try {
    syncTrees(files);
  } finally {
    for (const file of [files.tokens, files.trees, files.index]) close(file);
  }
}

/** The tree whose line lies there. Throws a FailureError with file and byte where it does not, or is not what was written. */
export function readTree(runFolder: string, { offset, length }: Span): TreeLine {
  const path = join(runFolder, FILES.trees);
  const bytes = readSpan(path, offset, length + 1);
  if (bytes.length !== length + 1 || bytes[length] !== 10)
    throw new FailureError({
      where: 'store',
      message: `${path}, byte ${offset}: no line of ${length} bytes is here.`,
    });
  const line = { text: bytes.toString('utf8', 0, length), offset, length };
  watchSeals(path, offset)(line);
  return treeOfLine(line, path);
}

/** Token columns that lie there. Throws a FailureError where the file is too short or its bytes are not those written. */
export function readColumns(runFolder: string, span: TokenSpan): TokenColumns {
  const { offset, crc } = span;
  const path = join(runFolder, FILES.tokens);
  const bytes = readSpan(path, offset, tokenBytes(span));
  const broken = (message: string): FailureError =>
    new FailureError({
      where: 'store',
      message: `${path}, byte ${offset}: ${message}`,
      fix: 'Restore the file from a copy.',
    });
  if (crc !== undefined && bytes.length === tokenBytes(span) && crc32(bytes) !== crc)
    throw broken('the tokens are not those that were written (checksum).');
  return columnsOf(bytes, span, broken);
}

/** What the bytes hold, or what `broken` makes of the reason why they do not hold what the span says. */
export function columnsOf(
  bytes: Uint8Array,
  span: Pick<TokenSpan, 'count' | 'alternatives'>,
  broken: (message: string) => FailureError,
): TokenColumns {
  const length = tokenBytes({ offset: 0, ...span });
  if (bytes.length !== length)
    throw broken(`there are ${bytes.length} of ${length} bytes of a tree’s tokens.`);
  const columns = decodeColumns(bytes, span);
  const drawn = drawnIn(columns);
  if (span.alternatives && span.alternatives.drawn !== drawn)
    throw broken(`there are alternatives of ${span.alternatives.drawn} tokens, but ${drawn} were drawn.`);
  return columns;
}

/** Tokens that a model drew. */
const drawnIn = ({ samplerLogProbs }: TokenColumns): number =>
  samplerLogProbs.reduce((sum, logProb) => (Number.isNaN(logProb) ? sum : sum + 1), 0);

/** How much of tokens.bin the columns take. Throws where there are not k alternatives for every drawn token. */
export function extentOf(columns: TokenColumns): Pick<TokenSpan, 'count' | 'alternatives'> {
  const { ids, alternatives } = columns;
  if (!alternatives) return { count: ids.length };
  const { k } = alternatives;
  const drawn = drawnIn(columns);
  if (alternatives.ids.length !== k * drawn || alternatives.logProbs.length !== k * drawn)
    throw new FailureError({
      where: 'bug',
      message: `${alternatives.ids.length} alternatives are not ${k} for each of ${drawn} drawn tokens.`,
    });
  return { count: ids.length, alternatives: { k, drawn } };
}

/** As layout.ts says, little-endian. */
export function encodeColumns(columns: TokenColumns): Uint8Array {
  const { ids, samplerLogProbs, trainerLogProbs, entropies, alternatives } = columns;
  for (const [name, column] of Object.entries({ samplerLogProbs, trainerLogProbs, entropies }))
    if (column.length !== ids.length)
      throw new FailureError({
        where: 'bug',
        message: `${name} has ${column.length} entries for ${ids.length} tokens.`,
      });
  const own = [ids, samplerLogProbs, trainerLogProbs, entropies];
  const all = alternatives ? [...own, alternatives.ids, alternatives.logProbs] : own;
  const bytes = Buffer.concat(
    all.map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength)),
    tokenBytes({ offset: 0, ...extentOf(columns) }),
  );
  return endianness() === 'LE' ? bytes : bytes.swap32();
}

/** The inverse of encodeColumns, on copies of the bytes, of which there must be as many as the span says. */
function decodeColumns(
  bytes: Uint8Array,
  { count, alternatives }: Pick<TokenSpan, 'count' | 'alternatives'>,
): TokenColumns {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const floats = (column: number): Float32Array =>
    Float32Array.from({ length: count }, (_, i) => view.getFloat32(4 * (column * count + i), true));
  return {
    ids: Int32Array.from({ length: count }, (_, i) => view.getInt32(4 * i, true)),
    samplerLogProbs: floats(1),
    trainerLogProbs: floats(2),
    entropies: floats(3),
    ...(alternatives && { alternatives: alternativesIn(view, count * TOKEN_BYTES, alternatives) }),
  };
}

function alternativesIn(
  view: DataView,
  offset: number,
  { k, drawn }: NonNullable<TokenSpan['alternatives']>,
): Alternatives {
  const length = k * drawn;
  return {
    k,
    ids: Int32Array.from({ length }, (_, i) => view.getInt32(offset + 4 * i, true)),
    logProbs: Float32Array.from({ length }, (_, i) => view.getFloat32(offset + 4 * (length + i), true)),
  };
}

/** A tree with its columns as one JSON value, columns in base64 as in tokens.bin: for programs that hand each other trees. */
export interface GrownText {
  tree: TreeLine;
  columns: string;
}

export function grownText({ tree, columns }: Grown): GrownText {
  const line = { ...tree, tokens: { offset: 0, ...extentOf(columns) } };
  return {
    tree: JSON.parse(treeText(line)) as TreeLine,
    columns: Buffer.from(encodeColumns(columns)).toString('base64'),
  };
}

const grownShape = record<GrownText>({ tree: treeLine, columns: text });

/** The inverse of grownText. Throws a FailureError that names the place where the value is no tree. */
export function grownOf(value: unknown, place: string): { tree: TreeLine; columns: TokenColumns } {
  const { tree, columns } = grownShape(value, place);
  const broken = (message: string): FailureError =>
    new FailureError({ where: 'store', message: `${place}: ${message}` });
  return { tree, columns: columnsOf(Buffer.from(columns, 'base64'), tree.tokens, broken) };
}

/** The line with its line feed, checked as a reader would: what cannot be read is not written. */
function encodeTree(tree: TreeLine): Uint8Array {
  return Buffer.from(`${sealed(treeText(tree))}\n`);
}

/** A tree's JSON; throws where a number is not finite, or the tree and its tokens do not belong together. */
export function treeText(tree: TreeLine): string {
  const text = JSON.stringify(tree);
  // What is not finite becomes null; segments without credit are meant to be.
  const nulls = text.match(/[:[,]null/g)?.length ?? 0;
  if (nulls > (tree.credit?.hard.filter(credit => credit === null).length ?? 0)) refuseUnmeasured(tree);
  const covered = tree.segments.reduce((end, { start, count }) => Math.max(end, start + count), 0);
  if (covered !== tree.tokens.count) {
    const message = `Tree ${tree.id} has ${covered} tokens in its segments and ${tree.tokens.count} in its columns.`;
    throw new FailureError({ where: 'bug', message });
  }
  treeLine(tree, `Tree ${tree.id}`);
  return text;
}

function refuseUnmeasured(tree: TreeLine): void {
  const visit = (value: unknown, name: string): void => {
    if (typeof value === 'number' && !Number.isFinite(value))
      throw new FailureError({
        where: 'bug',
        message: `Tree ${tree.id}: ${name} is ${value}; leave out what was not measured.`,
      });
    if (typeof value !== 'object' || value === null) return;
    for (const key in value) visit((value as Record<string, unknown>)[key], key);
  };
  visit(tree, '');
}

/** Length of the index up to its last whole entry that lies inside the first `treesLength` bytes of trees. */
function indexEnd(runFolder: string, treesLength: number): number {
  const path = join(runFolder, FILES.treeIndex);
  const { line, end } = lastWholeLine(path);
  if (!line) return 0;
  const last = /"offset":(\d+),"length":(\d+)/.exec(line.text);
  // Anything but an index that ends exactly with the trees is dropped whole; readers scan what it lacks.
  return last && Number(last[1]) + Number(last[2]) + 1 === treesLength ? end : 0;
}
