/**
 * How quickly the rollout tree is laid out and painted, in a headless browser: `ui-tree.mjs [--nodes 5000] [--json]`. `openMs`:
 * from the answer with the tree to the frame that shows it; `tintMs`: another tint; `stepsMs`: the same tree with all its words;
 * `…ComputedMs`: the same in processor time of the page's thread. `panMs`, `zoomMs`, `keyMs`: mean computed time of a frame that
 * is scrolled by 40 pixels, zoomed by a notch of the wheel, or in which an arrow key moves the selection; `panLongestMs`: of the
 * dearest frame of the scrolling.
 */
/* global window, document, performance, requestAnimationFrame, MutationObserver, WheelEvent -- in the page */
import { parseArgs } from 'node:util';
import { largeTree } from './largeTree.mjs';
import { printResult } from './print.mjs';
import { openView } from './viewPage.mjs';

const { values } = parseArgs({
  options: { nodes: { type: 'string', default: '5000' }, json: { type: 'boolean', default: false } },
});
const nodes = Number(values.nodes);
const tree = largeTree(nodes);
const view = await openView('tree', {
  events: [],
  answers: {
    ready: { subject: { runFolder: '/runs/long-1', tree: tree.id, isLive: false }, name: 'long-1' },
    tree,
    neighbours: { ways: {}, place: 1, count: 1 },
  },
  isPainted: `() => document.querySelector('svg .bar')`,
});
try {
  const { page, errors, bytes, computed } = view;
  const again = async act => {
    const before = await computed();
    const ms = await page.evaluate(async source => {
      const frame = () => new Promise(done => requestAnimationFrame(done));
      const began = performance.now();

      await (0, eval)(source)();
      await frame();
      await frame();
      return performance.now() - began;
    }, `(${act})`);
    return { ms, computedMs: (await computed()) - before };
  };
  /** The page is told that its tree has news: it asks, is answered, lays out and paints. */
  const open = await again(async () => {
    const drawn = new Promise(done => {
      new MutationObserver(done).observe(document.querySelector('svg > g'), { childList: true });
    });
    await window.give({ from: 1, events: [{ type: 'tree-finished', tree: '7.0', step: 7 }] });
    await drawn;
  });
  const tint = await again(() => document.querySelector('#tint input[value=reward]').click());
  const steps = await again(() => document.querySelector('#mode input[value=steps]').click());
  const inSight = await page.locator('[role=treeitem]').count();
  await again(() => document.querySelector('#mode input[value=auto]').click());
  const frames = async act => {
    const before = await computed();
    const [longest, count] = await page.evaluate(async source => {
      const picture = document.querySelector('.picture');

      const move = (0, eval)(source);
      window.told.longest = 0;
      const moves = 60;
      for (let i = 0; i < moves; i++) {
        move(picture, i);
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      }
      return [window.told.longest, moves];
    }, `(${act})`);
    return { mean: ((await computed()) - before) / count, longest };
  };
  const pan = await frames((picture, i) => picture.scrollBy(i % 5 === 0 ? 20 : 0, 40));
  const zoom = await frames((picture, i) =>
    picture.dispatchEvent(
      new WheelEvent('wheel', { ctrlKey: true, deltaY: i < 30 ? 100 : -100, clientX: 400, clientY: 400 }),
    ),
  );
  await page.focus('[role=treeitem][aria-selected=true]');
  const key = await frames(() =>
    document.activeElement.dispatchEvent(
      new window.KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true, cancelable: true }),
    ),
  );
  if (errors.length > 0) throw new Error(errors.join('\n'));
  const round = value => Math.round(value * 10) / 10;
  const result = {
    bench: 'ui-tree',
    nodes: tree.segments.length,
    trajectories: tree.paths.length,
    questions: tree.decisions.length,
    openMs: round(open.ms),
    openComputedMs: round(open.computedMs),
    tintMs: round(tint.ms),
    tintComputedMs: round(tint.computedMs),
    stepsMs: round(steps.ms),
    itemsInSteps: inSight,
    panMs: round(pan.mean),
    panLongestMs: round(pan.longest),
    zoomMs: round(zoom.mean),
    zoomLongestMs: round(zoom.longest),
    keyMs: round(key.mean),
    bundleKiB: Math.round(bytes / 1024),
  };
  printResult(result, values.json);
} finally {
  await view.close();
}
