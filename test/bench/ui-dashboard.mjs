/**
 * How quickly the dashboard paints a long run, in a headless browser: `ui-dashboard.mjs [--steps 10000] [--json]`. Charts in
 * sight are painted; the window is so tall that nine are. `openMs`: from the first event handed in to the last one painted;
 * `firstMs`: the same for the first batch, which is painted while the others come; `paintMs`: all charts in sight again, from
 * full columns, as when smoothing changes; `…ComputedMs`: the same in processor time of the page's thread; `hoverMs`: mean
 * frame of a pointer that moves over a chart while all cursors follow.
 */
/* global window, document, performance, requestAnimationFrame, Event, PointerEvent -- in the page */
import { parseArgs } from 'node:util';
import { longRun } from './longRun.mjs';
import { printResult } from './print.mjs';
import { openView } from './viewPage.mjs';

const { values } = parseArgs({
  options: { steps: { type: 'string', default: '10000' }, json: { type: 'boolean', default: false } },
});
const steps = Number(values.steps);
const FIRST_BATCH = 2000;
const open = (events, last) =>
  openView('dashboard', {
    events,
    answers: {
      ready: { subject: { runFolder: '/runs/long-1', isLive: false }, name: 'long-1' },
      extremes: [],
      trees: [],
    },
    height: 900,
    isPainted: `() => document.querySelector('.chart canvas').ariaLabel.includes('at step ${last}')`,
  });
const events = longRun(steps);
const first = await open(
  events.filter(({ step }) => step <= FIRST_BATCH),
  Math.min(steps, FIRST_BATCH),
);
await first.close();
const view = await open(events, steps);
try {
  const { page, told, errors, bytes, computed, openComputedMs } = view;
  if (errors.length > 0) throw new Error(errors.join('\n'));
  const painted = await page.evaluate(() => {
    const isInked = canvas => {
      const { width, height } = canvas;
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
      return data.some(value => value !== 0);
    };
    return [...document.querySelectorAll('.chart canvas')].filter(
      canvas => canvas.width > 300 && isInked(canvas),
    ).length;
  });
  const before = await computed();
  const paintMs = await page.evaluate(async () => {
    const slider = document.querySelector('.smoothing input');
    slider.value = '0.9';
    const began = performance.now();
    slider.dispatchEvent(new Event('input'));
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - began;
  });
  const paintComputedMs = (await computed()) - before;
  const box = await page.locator('.chart canvas').first().boundingBox();
  const hoverMs = await page.evaluate(async ({ x, y, width, height }) => {
    const canvas = document.elementFromPoint(x + width / 2, y + height / 2);
    let spent = 0;
    const moves = 60;
    for (let i = 0; i < moves; i++) {
      window.told.longest = 0;
      canvas.dispatchEvent(
        new PointerEvent('pointermove', {
          clientX: x + 60 + (i * (width - 80)) / moves,
          clientY: y + height / 2,
          bubbles: true,
        }),
      );
      await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
      spent += window.told.longest;
    }
    return spent / moves;
  }, box);
  const round = value => Math.round(value * 10) / 10;
  const result = {
    bench: 'ui-dashboard',
    steps,
    paintedCharts: painted,
    firstMs: round(first.told.painted - first.told.began),
    firstComputedMs: round(first.openComputedMs),
    openMs: round(told.painted - told.began),
    openComputedMs: round(openComputedMs),
    paintMs: round(paintMs),
    paintComputedMs: round(paintComputedMs),
    hoverMs: round(hoverMs),
    bundleKiB: Math.round(bytes / 1024),
  };
  printResult(result, values.json);
} finally {
  await view.close();
}
