/** A run folder with the journal of the recorded sample, its steps over and over. Knows nothing of who reads it. */
import { appendFileSync, copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sealed, unsealed } from '../../src/run/shape.ts';

const SAMPLE = join(import.meta.dirname, '../../media/sample/run');

/** Makes it, with so many finished steps and their growth, in a temporary folder that is the caller's to remove. */
export function longJournal(steps) {
  const folder = mkdtempSync(join(tmpdir(), 'branchpoint-journal-'));
  copyFileSync(join(SAMPLE, 'run.json'), join(folder, 'run.json'));
  const path = join(folder, 'events.jsonl');
  const facts = readFileSync(join(SAMPLE, 'events.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map(unsealed)
    .map(JSON.parse);
  const line = fact => `${sealed(JSON.stringify(fact))}\n`;
  writeFileSync(path, line(facts[0]));
  const grown = facts.filter(({ type, step }) => step > 0 && type !== 'run-ended');
  const recorded = grown.at(-1).step;
  let seq = 1;
  for (let done = 0; done < steps; done += recorded) {
    const round = grown.filter(({ step }) => done + step <= steps);
    const lines = round.map(fact => line({ ...fact, seq: seq++, step: done + fact.step }));
    appendFileSync(path, lines.join(''));
  }
  return folder;
}
