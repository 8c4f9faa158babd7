/**
 * How quickly two long runs are compared, in a headless browser: `ui-compare.mjs [--steps 10000] [--json]`. `openMs`: from the first
 * event handed in until both runs' last steps are in every curve; `openComputedMs`: the same in processor time of the page's thread;
 * `longestFrameMs`: the longest that the page answered nothing.
 */
import { parseArgs } from 'node:util';
import { longRun } from './longRun.mjs';
import { printResult } from './print.mjs';
import { openView } from './viewPage.mjs';

const { values } = parseArgs({
  options: { steps: { type: 'string', default: '10000' }, json: { type: 'boolean', default: false } },
});
const steps = Number(values.steps);
const runs = [1, 2].map(seed => ({
  ...{ folder: `/runs/long-${seed}`, name: `long-${seed}`, hashes: {}, versions: {}, isLive: false },
  config: { seed: 1, learningRate: seed },
}));
const view = await openView('compare', {
  events: runs.map((_, run) => longRun(steps, run + 1)),
  answers: { ready: { subject: { runFolder: runs[0].folder, isLive: false }, name: 'long-1' }, runs },
  isPainted: `() => {
    const spoken = [...document.querySelectorAll('.slots canvas')].map(({ ariaLabel }) => ariaLabel);
    return spoken.length > 1 && spoken.every(said => said.includes('at step ${steps}') && said.includes('long-2'));
  }`,
});
try {
  if (view.errors.length > 0) throw new Error(view.errors.join('\n'));
  const round = value => Math.round(value * 10) / 10;
  const { told, openComputedMs, bytes } = view;
  printResult(
    {
      bench: 'ui-compare',
      steps,
      openMs: round(told.painted - told.began),
      openComputedMs: round(openComputedMs),
      longestFrameMs: round(told.longest),
      bundleKiB: Math.round(bytes / 1024),
    },
    values.json,
  );
} finally {
  await view.close();
}
