/** Measures tool calls per second, one and eight at a time: `node .ci/node24.mjs test/bench/tools.ts [--json]`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPool } from '../../src/worker/tools/pool.ts';
import { openPython } from '../../src/worker/tools/python.ts';
import { openSearch } from '../../src/worker/tools/search.ts';
import type { Tool } from '../../src/worker/tools/tool.ts';

interface Row {
  tool: string;
  concurrency: number;
  callsPerSecond: number;
}

async function measure(tool: Tool, argument: (i: number) => string, calls: number): Promise<Row[]> {
  const pool = openPool([tool], { timeoutMs: 120_000, concurrency: 8 });
  const rows: Row[] = [];
  let next = 0;
  // The first call waits for the sandbox; eight more let the pool start as many as it wants.
  for (const concurrency of [8, 1, 8]) {
    const startedAt = performance.now();
    const last = next + calls;
    const work = async (): Promise<void> => {
      while (next < last) {
        const result = await pool.call(tool.tag, argument(next++));
        if (result.outcome !== 'ok') throw new Error(result.text);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    const seconds = (performance.now() - startedAt) / 1000;
    rows.push({ tool: tool.description, concurrency, callsPerSecond: Math.round(calls / seconds) });
  }
  await pool.close();
  return rows.slice(1);
}

const folder = mkdtempSync(join(tmpdir(), 'branchpoint-bench-'));
const corpus = join(folder, 'corpus.jsonl');
const place = (i: number): string => `Place${i}`;
const documents = Array.from({ length: 4_500 }, (_, i) =>
  JSON.stringify({ title: place(i), text: `${place(i)}: city in Country${i % 200}. Population ${i * 977}.` }),
);
writeFileSync(corpus, documents.join('\n'));

const rows: Row[] = [];
const limits = { timeoutMs: 10_000, memoryMB: 512, outputBytes: 8_192, concurrency: 8 };
for (const sandbox of ['bubblewrap', 'pyodide'] as const) {
  const tool = await openPython({ sandbox, ...limits }).catch((error: Error) => console.error(error.message));
  if (tool) rows.push(...(await measure(tool, i => `print( ${i} + 456 )`, 400)));
}
const search = await openSearch({ corpus, results: 2, resultCharacters: 1_000 });
rows.push(...(await measure(search, i => `population of ${place(i % 4_500)}`, 4_000)));
rmSync(folder, { recursive: true });
if (process.argv.includes('--json')) console.log(JSON.stringify(rows));
else console.table(rows);
