/** All measurements of the editor's views, each in a process of its own: `ui.mjs [--json]`. One line of JSON with the results by view. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;
const results = { bench: 'ui' };
for (const file of readdirSync(folder).sort()) {
  const [, view] = /^ui-(\w+)\.mjs$/.exec(file) ?? [];
  if (view === undefined) continue;
  const said = execFileSync(process.execPath, [join(folder, file), '--json'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { bench: _, ...numbers } = JSON.parse(said.trimEnd().split('\n').at(-1));
  results[view] = numbers;
  if (!process.argv.includes('--json')) {
    console.log(`\n${view}`);
    for (const [name, value] of Object.entries(numbers)) console.log(`  ${name} ${value}`);
  }
}
if (process.argv.includes('--json')) console.log(JSON.stringify(results));
