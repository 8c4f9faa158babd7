/**
 * How quickly trajectories are listed, looked through and read: `ui-trajectory.mjs [--json]`. `textMs`: a trajectory of 36,000
 * tokens from disk to text; `tintMs`: what is decorated in sight; `switchMs`: the same for another overlay; `listMs`: a file of
 * 1 GB with 100,000 trajectories (its index is real, its bytes are a hole) to the first rows; `searchMBs`: megabytes a second of processor time that a
 * search for text that stands nowhere, and one by reward, look through; `paintMs`: a list of 12,500 trees and a transcript of
 * 100,000 lines in a headless browser. `…ComputedMs`: the same in processor time, whatever else the machine does.
 */
/* global window, document, performance, requestAnimationFrame, AbortController -- the first two in the page */
import { copyFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { decorationsIn } from '../../src/extension/overlay.ts';
import { layOut } from '../../src/extension/trajectoryText.ts';
import { TreeList } from '../../src/extension/treeList.ts';
import { openRun } from '../../src/run/reader.ts';
import { searchTrees } from '../../src/run/search.ts';
import { sealed } from '../../src/run/shape.ts';
import { closeTrees, openTrees, writeTrees } from '../../src/run/trees.ts';
import { printResult } from './print.mjs';
import { openView } from './viewPage.mjs';

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
const TOKENS = 36_000;
const GIGABYTE = 1e9;
const TREES = 12_500;
const SEARCHED = 64e6;
const round = value => Math.round(value * 10) / 10;
const folder = mkdtempSync(join(tmpdir(), 'branchpoint-bench-'));
try {
  const result = {
    bench: 'ui-trajectory',
    ...(await text(runFolder())),
    ...(await list(runFolder())),
    ...(await search(runFolder())),
    ...(await view()),
  };
  printResult(result, values.json);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** A run folder without trees. */
function runFolder() {
  const made = mkdtempSync(join(folder, 'run-'));
  for (const name of ['run.json', 'pieces.bin'])
    copyFileSync(join('media/sample/run', name), join(made, name));
  return made;
}

/** One path of turns and tool answers in turn, each of 300 tokens; the text is only what a search reads. */
function grown(id, tokens, words) {
  const turns = Math.max(1, Math.floor(tokens / 300));
  const segments = Array.from({ length: turns + 1 }, (_, i) => ({
    parent: i - 1,
    kind: i === 0 ? 'prompt' : i % 2 === 1 ? 'model' : 'tool',
    start: i === 0 ? 0 : 10 + (i - 1) * 300,
    count: i === 0 ? 10 : 300,
    text: words,
    turn: Math.floor(i / 2),
    ...(i % 2 === 1 && { stop: 'call', entropy: 0.3 }),
    ...(i > 0 &&
      i % 2 === 0 && { call: { tool: 'search', argument: 'x', outcome: 'ok', latencyMs: 5, shared: false } }),
  }));
  const count = 10 + turns * 300;
  const reward = { total: 0, parts: {}, correct: false, reason: 'Wrong.' };
  const column = value => Float32Array.from({ length: count }, (_, i) => value(i));
  return {
    tree: {
      id,
      step: Number(id.split('.')[0]),
      task: { id: 'task', question: `What is asked in ${id}?`, references: ['x'], ability: '' },
      rule: 'paper',
      initial: 1,
      total: 1,
      segments,
      paths: [{ leaf: turns, origin: 'initial', calls: 0, stop: 'answer', reward }],
      decisions: [],
      credit: {
        soft: [0.5],
        hard: segments.map(({ kind }) => (kind === 'model' ? 0.5 : null)),
        used: 'soft',
      },
    },
    columns: {
      ids: Int32Array.from({ length: count }, (_, i) => 20 + ((i * 7919) % 400)),
      samplerLogProbs: column(i => -((i * 37) % 100) / 25),
      trainerLogProbs: column(i => -((i * 37) % 100) / 25 + ((i % 9) - 4) / 50),
      entropies: column(i => ((i * 53) % 100) / 40),
    },
  };
}

function write(run, trees) {
  const files = openTrees(run);
  writeTrees(files, trees);
  closeTrees(files);
}

async function text(run) {
  const { tree, columns } = grown('1.0', TOKENS, '');
  write(run, [{ tree, columns }]);
  const read = async () => {
    const open = openRun(run);
    const found = { tree: await open.tree('1.0'), columns: await open.columns('1.0'), path: 0 };
    const pieces = await open.pieces();
    return { ...found, layout: layOut(found.tree, 0, { ids: found.columns.ids, pieces }) };
  };
  const [trajectory, textTook] = await timed('text', read);
  const { lineStarts } = trajectory.layout;
  const middle = lineStarts.length >> 1;
  const stretch = margin => ({ from: lineStarts[middle - margin], to: lineStarts[middle + 50 + margin] });
  const sight = { seen: stretch(0), near: stretch(60) };
  const [tinted, tintTook] = await timed('tint', () => decorationsIn(trajectory, 'entropy', 'used', sight));
  const [, switchTook] = await timed('switch', () => decorationsIn(trajectory, 'log-prob', 'used', sight));
  const decorations = tinted.tints.length + tinted.untrained.length + tinted.marks.length;
  return { tokens: trajectory.layout.tokens.length, ...textTook, ...tintTook, ...switchTook, decorations };
}

async function list(run) {
  const length = Math.floor(GIGABYTE / TREES) - 1;
  const entries = Array.from({ length: TREES }, (_, i) => ({
    id: `${1 + Math.floor(i / 8)}.${i % 8}`,
    step: 1 + Math.floor(i / 8),
    offset: i * (length + 1),
    length,
    question: `What is asked in tree ${i}, and which of the tools answers it soonest?`,
    reward: (i % 9) / 8,
    paths: 8,
    branches: 3,
    refused: 5,
  }));
  writeFileSync(join(run, 'trees.jsonl'), '');
  truncateSync(join(run, 'trees.jsonl'), TREES * (length + 1));
  writeFileSync(
    join(run, 'trees.index'),
    entries.map(entry => `${sealed(JSON.stringify(entry))}\n`).join(''),
  );
  const before = process.memoryUsage().rss;
  let shown;
  const told = new Promise(done => (shown = done));
  const [trees, took] = await timed('list', async () => {
    const trees = new TreeList(openRun(run), async ({ rows }) => void shown(rows));
    await trees.read(GIGABYTE);
    if ((await told) !== TREES) throw new Error('Not all trees are listed.');
    trees.rows(0, 100);
    return trees;
  });
  trees.close();
  return { listed: TREES, ...took, listMB: round((process.memoryUsage().rss - before) / 1e6) };
}

async function search(run) {
  const words = 'The quick answer stands on no page that was found so far. '.repeat(40);
  const one = grown('1.0', 3000, words);
  const size = JSON.stringify(one.tree).length;
  const count = Math.ceil(SEARCHED / size);
  const files = openTrees(run);
  for (let i = 0; i < count; i++)
    writeTrees(files, [{ ...one, tree: { ...one.tree, id: `${i + 1}.0`, step: i + 1 } }]);
  closeTrees(files);
  const entries = await openRun(run).trees();
  const rate = async query => {
    let seen = 0;
    const [, { searchComputedMs: ms }] = await timed('search', async () => {
      for await (const { bytes } of searchTrees(run, entries, query, new AbortController().signal))
        seen = bytes;
    });
    return round(seen / 1e3 / ms);
  };
  return { searchTextMBs: await rate({ text: 'nowhere' }), searchRewardMBs: await rate({ minimum: 1 }) };
}

async function view() {
  const long = grown('1.0', 3000, 'A line of a transcript.\n'.repeat(10_000));
  const respond = (verb, args, data, ask) => {
    const row = i => ({
      id: `${i}.0`,
      step: i,
      question: `Question ${i}`,
      reward: 0.5,
      paths: 8,
      branches: 3,
      refused: 5,
    });
    if (verb === 'ready') {
      ask('listed', { rows: data.trees, trees: data.trees, share: 1 }, true);
      return { runFolder: '/run', name: 'run-1', tools: ['search'] };
    }
    if (verb === 'rows') return Array.from({ length: args[1] }, (_, i) => row(args[0] + i));
    return verb === 'tree' ? data.tree : undefined;
  };
  const page = await openView('trajectories', {
    respond,
    data: { trees: TREES, tree: long.tree },
    isPainted: `() => document.querySelectorAll('.line.heading').length > 0`,
  });
  try {
    if (page.errors.length > 0) throw new Error(page.errors.join('\n'));
    const { scrollMs, elements, lines } = await page.page.evaluate(async () => {
      const transcript = document.querySelector('.reader .virtual');
      const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
      let spent = 0;
      for (let i = 0; i < 60; i++) {
        window.told.longest = 0;
        transcript.scrollTop = (i / 60) * transcript.scrollHeight;
        await frame();
        spent += window.told.longest;
      }
      const [line] = document.querySelectorAll('.line');
      return {
        scrollMs: spent / 60,
        elements: document.querySelectorAll('*').length,
        lines: Number(line.getAttribute('aria-setsize')),
      };
    });
    const { told } = page;
    return { paintMs: round(told.painted - told.ready), lines, scrollMs: round(scrollMs), elements };
  } finally {
    await page.close();
  }
}

/** What it comes to, and `<name>Ms` with `<name>ComputedMs`. */
async function timed(name, work) {
  const before = process.cpuUsage();
  const began = performance.now();
  const value = await work();
  const { user, system } = process.cpuUsage(before);
  return [
    value,
    {
      [`${name}Ms`]: round(performance.now() - began),
      [`${name}ComputedMs`]: round((user + system) / 1000),
    },
  ];
}
