import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import { wholeLines, type Line } from '../../src/run/lines.ts';
import { inFolder } from './fixtures.ts';

async function linesFrom(path: string, from: number): Promise<{ lines: Line[]; next: number }> {
  const lines: Line[] = [];
  let last = from;
  for await (const batch of wholeLines(path, from)) {
    lines.push(...batch.lines);
    last = batch.next;
  }
  return { lines, next: last };
}

describe('lines', () => {
  it('come whole and with their places, also where one is longer than what is read at once or ends with it', () =>
    inFolder(async folder => {
      const path = join(folder, 'long.jsonl');
      const chunk = 1 << 20;
      const texts = ['a', 'b'.repeat(3.5 * chunk), 'ü'.repeat(9), '', 'c'.repeat(chunk - 1), 'd'];
      writeFileSync(path, texts.map(text => `${text}\n`).join('') + 'torn');
      const { lines, next } = await linesFrom(path, 0);
      assert.deepEqual(
        lines.map(({ text }) => text.length),
        texts.map(({ length }) => length),
      );
      assert.ok(lines.every(({ text }, i) => text === texts[i]));
      const bytes = readFileSync(path);
      for (const { text, offset, length } of lines)
        assert.ok(bytes.toString('utf8', offset, offset + length) === text);
      assert.equal(next, bytes.length - 'torn'.length);
      appendFileSync(path, ' no more\n');
      assert.deepEqual((await linesFrom(path, next)).lines, [
        { text: 'torn no more', offset: next, length: 12 },
      ]);
    }));
});
