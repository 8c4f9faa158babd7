/**
 * A view of the editor in a plain page: its real bundle, the theme's variables and a host that answers from memory. For
 * measuring and for looking; knows nothing of VS Code.
 */
/* global window, performance, requestAnimationFrame, atob -- in the page */
import { Buffer } from 'node:buffer';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';
import { chromium } from 'playwright-core';
import { packSteps } from '../../src/core/stepColumns.ts';
import { findBrowser } from '../host/setup.mjs';

const COMMON = {
  'font-family': 'DejaVu Sans, sans-serif',
  'font-size': '13px',
  'charts-red': '#f14c4c',
  'charts-blue': '#3794ff',
  'charts-yellow': '#cca700',
  'charts-orange': '#d18616',
  'charts-green': '#89d185',
  'charts-purple': '#b180d7',
};
/** The variables that the views use, as VS Code's own themes set them. */
export const THEMES = {
  dark: {
    class: 'vscode-dark',
    ...COMMON,
    foreground: '#cccccc',
    descriptionForeground: '#9d9d9d',
    'editor-background': '#1f1f1f',
    'panel-border': '#2b2b2b',
    focusBorder: '#0078d4',
    'editorWidget-background': '#202020',
    'editorWidget-border': '#2a2b2c',
    'editorHoverWidget-background': '#202020',
    'editorHoverWidget-border': '#454545',
    'list-hoverBackground': '#2a2d2e',
    'list-activeSelectionBackground': '#04395e',
    'list-activeSelectionForeground': '#ffffff',
    'textLink-foreground': '#4daafc',
    'editor-selectionBackground': '#264f78',
    'editorWarning-foreground': '#cca700',
    'button-background': '#0078d4',
    'button-foreground': '#ffffff',
    'button-secondaryBackground': '#313131',
    'button-secondaryForeground': '#cccccc',
  },
  light: {
    class: 'vscode-light',
    ...COMMON,
    'charts-red': '#e51400',
    'charts-blue': '#0063d3',
    'charts-yellow': '#bf8803',
    'charts-green': '#388a34',
    'charts-purple': '#652d90',
    foreground: '#3b3b3b',
    descriptionForeground: '#3b3b3b',
    'editor-background': '#ffffff',
    'panel-border': '#e5e5e5',
    focusBorder: '#005fb8',
    'editorWidget-background': '#f8f8f8',
    'editorHoverWidget-background': '#f8f8f8',
    'editorHoverWidget-border': '#c8c8c8',
    'list-hoverBackground': '#f2f2f2',
    'list-activeSelectionBackground': '#e8e8e8',
    'list-activeSelectionForeground': '#000000',
    'textLink-foreground': '#005fb8',
    'editor-selectionBackground': '#add6ff',
    'editorWarning-foreground': '#bf8803',
    'button-background': '#005fb8',
    'button-foreground': '#ffffff',
    'button-secondaryBackground': '#e5e5e5',
    'button-secondaryForeground': '#3b3b3b',
  },
  contrast: {
    class: 'vscode-high-contrast',
    ...COMMON,
    foreground: '#ffffff',
    descriptionForeground: '#ffffff',
    'editor-background': '#000000',
    contrastBorder: '#6fc3df',
    contrastActiveBorder: '#f38518',
    focusBorder: '#f38518',
    'editorWidget-background': '#0c141f',
    'editorHoverWidget-background': '#0c141f',
    'editorHoverWidget-border': '#6fc3df',
    'textLink-foreground': '#21a6ff',
    'editorWarning-foreground': '#ffd370',
    'button-border': '#6fc3df',
    'button-foreground': '#ffffff',
    'button-secondaryForeground': '#ffffff',
  },
};

/**
 * What stands for the extension host in the page. `answers` are values by verb; events come in batches as from the pump. Where
 * `respond(verb, args, data, ask)` is given it answers instead, and may ask the view something by `ask(verb, ...args)`.
 */
function host({ batches, answers, data }, isPainted, respond) {
  const asked = (window.asked = []);
  const told = (window.told = {});
  let id = 0;
  const taken = new Map();
  const tell = message => window.postMessage(message, '*');
  const numbers = text => new Float64Array(Uint8Array.from(atob(text), one => one.charCodeAt(0)).buffer);
  for (const { steps } of batches)
    for (const key of steps ? ['seqs', 'steps', 'values'] : []) steps[key] = numbers(steps[key]);
  const give = part =>
    new Promise(done => {
      taken.set(++id, done);
      tell({ kind: 'ask', id, verb: 'events', args: [part] });
    });
  window.stream = async () => {
    told.began = performance.now();
    for (const batch of batches) await give(batch);
    told.taken = performance.now();
    const frame = () => new Promise(done => requestAnimationFrame(done));
    do await frame();
    while (!isPainted());
    await frame();
    told.painted = performance.now();
  };
  window.give = give;
  const ask = (verb, ...args) => tell({ kind: 'ask', id: ++id, verb, args });
  const valueOf = ({ verb, args }) => (respond ? respond(verb, args, data, ask) : answers[verb]);
  window.acquireVsCodeApi = () => ({
    getState: () => undefined,
    setState: state => (window.kept = state),
    postMessage: message => {
      if (message.kind !== 'ask') return taken.get(message.id)?.();
      asked.push([message.verb, ...message.args]);
      setTimeout(() => tell({ kind: 'answer', id: message.id, value: valueOf(message) }));
      if (message.verb === 'ready') told.ready = performance.now();
    },
  });
  const frame = window.requestAnimationFrame.bind(window);
  /** The longest callback of a frame: what a user would feel. */
  told.longest = 0;
  window.requestAnimationFrame = callback =>
    frame(time => {
      const began = performance.now();
      callback(time);
      told.longest = Math.max(told.longest, performance.now() - began);
    });
}

/** What the pump would send of each run's facts; the arrays of columns as text. */
function batchesOf(events, size, isPacked) {
  const text = numbers =>
    Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength).toString('base64');
  const packed = part => {
    const { events: rest, steps } = packSteps(part);
    if (!steps) return { events: rest };
    const { seqs, steps: numbers, values } = steps;
    return {
      events: rest,
      steps: { ...steps, seqs: text(seqs), steps: text(numbers), values: text(values) },
    };
  };
  return (Array.isArray(events[0]) ? events : [events]).flatMap((own, run) =>
    Array.from({ length: Math.max(1, Math.ceil(own.length / size)) }, (_, i) => {
      const part = own.slice(i * size, (i + 1) * size);
      return {
        ...{ run, from: i * size },
        ...(isPacked ? packed(part) : { events: part }),
        ...((i + 1) * size < own.length && { more: true }),
      };
    }),
  );
}

/**
 * Opens a view on a run's events (or on those of several, each in a list of its own) and waits until all of them are painted. Returns the page, what the host was told, and what
 * ends it all.
 */
export async function openView(
  view,
  {
    events = [],
    answers = {},
    data,
    respond,
    theme = 'dark',
    width = 1400,
    height = 900,
    batch = 2000,
    reducedMotion = 'no-preference',
    isPainted = '() => true',
  },
) {
  const folder = mkdtempSync(join(tmpdir(), 'branchpoint-view-'));
  await esbuild.build({
    entryPoints: { [view]: resolve(`webview/${view}/main.ts`) },
    bundle: true,
    minify: !process.env.BRANCHPOINT_READABLE,
    platform: 'browser',
    format: 'iife',
    target: 'es2023',
    tsconfig: resolve('webview/tsconfig.json'),
    loader: { '.svg': 'text' },
    outdir: folder,
    logLevel: 'warning',
  });
  const { class: name, ...variables } = THEMES[theme];
  const style = Object.entries(variables).map(([key, value]) => `--vscode-${key}: ${value};`);
  const batches = batchesOf(events, batch, ['dashboard', 'compare'].includes(view));
  const start = JSON.stringify({ batches, answers, data }).replaceAll('</', '<\\/');
  writeFileSync(join(folder, 'host.js'), `(${host})(${start}, ${isPainted}, ${respond});`);
  writeFileSync(
    join(folder, 'index.html'),
    `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><style>:root { ${style.join(' ')} }</style>
<link rel="stylesheet" href="${view}.css"></head><body data-view="${view}" class="${name}">
<script src="host.js"></script><script src="${view}.js"></script></body></html>`,
  );
  const browser = await chromium.launch({
    executablePath: findBrowser(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'],
  });
  const close = async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const page = await browser.newPage({ viewport: { width, height }, reducedMotion });
    const errors = [];
    page.on('pageerror', error => errors.push(String(error)));
    page.on('console', message => message.type() === 'error' && errors.push(message.text()));
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    /** Milliseconds that the page's own thread has computed so far, whatever else the machine does. */
    const computed = async () => {
      const { metrics } = await session.send('Performance.getMetrics');
      return 1000 * metrics.find(({ name }) => name === 'TaskDuration').value;
    };
    await page.goto(pathToFileURL(join(folder, 'index.html')).href);
    await page.waitForFunction(() => window.told.ready !== undefined);
    const before = await computed();
    await page.evaluate(() => window.stream());
    const openComputedMs = (await computed()) - before;
    await page.waitForFunction(() => window.told.painted !== undefined, undefined, { timeout: 60_000 });
    const told = await page.evaluate(() => window.told);
    const bytes = readFileSync(join(folder, `${view}.js`)).length;
    return { page, told, errors, bytes, computed, openComputedMs, close };
  } catch (error) {
    await close();
    throw error;
  }
}
