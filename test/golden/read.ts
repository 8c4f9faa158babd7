/** Reads golden vectors: objects with what they are and rows to check one by one. */
import { readFileSync } from 'node:fs';

/** Rows of test/golden/<name>.json. */
export const goldenRows = <Row>(name: string): Row[] =>
  (JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8')) as { rows: Row[] }).rows;
