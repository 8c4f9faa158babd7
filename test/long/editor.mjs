/**
 * The packaged extension in a real VS Code over what is larger, longer and rougher than the tests: `editor.mjs [--steps 10000]
 * [--gigabytes 1] [--kills 12] [--shots FOLDER [--views dashboard,tree]] [--parts large,killed,shots] [--json]`. Opens a run of so many steps and a file of so many bytes of trees;
 * kills the worker and the extension host at random moments of a live run and compares what it comes to with a run that nobody
 * killed; and takes a picture of every view in three themes. Ends with one line, and with 1 where something was lost.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { fold } from '../../src/core/fold.ts';
import { FILES } from '../../src/run/layout.ts';
import { liveLock } from '../../src/run/lock.ts';
import { openRun } from '../../src/run/reader.ts';
import { longRun } from '../bench/longRun.mjs';
import { openEditor } from '../e2e/editor.mjs';
import { liveRunIn, makeProject } from '../e2e/sampleFiles.mjs';
import { until } from '../e2e/user.mjs';
import { deedsOf } from '../fakes/sameRun.ts';
import { makeBigRun, makeLongRun } from './largeRuns.ts';
import { shootViews } from './shots.mjs';

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '10000' },
    gigabytes: { type: 'string', default: '1' },
    kills: { type: 'string', default: '12' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    shots: { type: 'string', default: 'out/shots' },
    views: { type: 'string' },
    parts: { type: 'string', default: 'large,killed,shots' },
    json: { type: 'boolean', default: false },
  },
});
/** Steps of the run that is killed: some seconds. */
const KILLED_STEPS = 30;

const result = { check: 'editor', seed: Number(values.seed) };
const tell = (key, value) => {
  result[key] = typeof value === 'number' ? Math.round(value * 10) / 10 : value;
  if (!values.json) console.log(`${key} ${result[key]}`);
};
const random = seeded(Number(values.seed));
const project = mkdtempSync(join(tmpdir(), 'branchpoint-long-'));
try {
  run(['.ci/package.mjs', '--out', 'out/branchpoint.vsix']);
  const runs = dirname(makeProject(project));
  const parts = values.parts.split(',');
  if (parts.includes('large')) await large(runs);
  if (parts.includes('killed')) await killed(runs);
  if (parts.includes('shots'))
    tell(
      'shots',
      await shootViews({ project, folder: resolve(values.shots), views: values.views?.split(',') }),
    );
} finally {
  rmSync(project, { recursive: true, force: true });
}
if (values.json) console.log(JSON.stringify(result));

/** A long journal and a big file of trees: how long until they can be read, and what the extension host takes for it. */
async function large(runs) {
  const long = await makeLongRun(join(runs, 'recorded'), runs, longRun(Number(values.steps)));
  const big = await makeBigRun(join(runs, 'recorded'), runs, Number(values.gigabytes) * 1e9);
  tell('longSteps', Number(values.steps));
  tell('bigTreesGB', (statSync(join(big, FILES.trees)).size + statSync(join(big, FILES.tokens)).size) / 1e9);
  await inEditor(async ({ user, server }) => {
    const before = hostMemory(server);
    tell(
      'longDashboardSeconds',
      await seconds(async () => {
        await user.command('Branchpoint: Open Run Dashboard');
        await user.pick(basename(long));
        await user.reads(
          await user.dashboard(basename(long)),
          'Reward',
          new RegExp(`at step ${values.steps}\\b`),
        );
      }),
    );
    tell(
      'bigListSeconds',
      await seconds(async () => {
        await user.command('Branchpoint: Browse Trajectories');
        await user.pick(basename(big));
        const view = await user.view(
          'body[data-view="trajectories"] [role="option"], body[data-view="trajectories"] [role="row"]',
        );
        await view.locator('[role="option"], [role="row"]').nth(3).waitFor();
      }),
    );
    tell('hostMemoryGrowthMB', (hostMemory(server) - before) / 1e6);
  });
  for (const folder of [long, big]) rmSync(folder, { recursive: true });
}

/** Worker and extension host die at random moments; the run ends equal to one that was left alone. */
async function killed(runs) {
  const config = join(project, 'killed.branchpoint.json');
  const text = readFileSync(join(project, 'sample.branchpoint.json'), 'utf8');
  const changed = text
    .replace(/"name": "\w+"/, '"name": "killed"')
    .replace(/"steps": \d+/, `"steps": ${KILLED_STEPS}`)
    .replace(
      /"evaluation": \{[^}]*\}/,
      '"evaluation": { "tasks": 4, "samples": 1, "before": false, "after": false }',
    )
    .replace(/"checkpoint": \{[^}]*\}/, '"checkpoint": { "every": 3 }');
  writeFileSync(config, changed);
  run(['.ci/node24.mjs', 'dist/branchpoint.cjs', 'train', config, '--out', join(project, 'unbroken')]);
  const unbroken = join(project, 'unbroken', 'killed-1');
  const kills = { worker: 0, host: 0 };
  await inEditor(async ({ user, server }) => {
    await user.command('Branchpoint: Launch Run');
    await user.pick('killed.branchpoint.json');
    const folder = await until(() => liveRunIn(runs), 'a run folder with a worker');
    let told = 0;
    for (let left = Number(values.kills); left > 0; left--) {
      await new Promise(done => setTimeout(done, 300 + 2500 * random()));
      const lock = liveLock(folder);
      if (random() < 0.5 && lock) {
        process.kill(lock.pid, 'SIGKILL');
        kills.worker++;
        await until(() => liveLock(folder) === undefined, 'the worker’s end');
      } else {
        process.kill(hostProcess(server), 'SIGKILL');
        kills.host++;
        await user.reload();
        await user.openSidebar('Branchpoint');
      }
      const state = fold(await openRun(folder).events());
      assert.ok(state.summaries.length >= 0 && state.step >= 0);
      const kept = state.checkpoints.at(-1)?.step ?? 0;
      assert.ok(kept >= told, `a checkpoint after step ${told} was lost`);
      told = kept;
      if (state.status === 'finished') break;
      if (liveLock(folder) === undefined) {
        await user.row(/interrupted/).waitFor();
        // It is the only one that can go on, so that nobody is asked which.
        await user.command('Branchpoint: Resume Run');
        await until(async () => liveLock(folder) !== undefined || (await isFinished(folder)), 'a new worker');
      }
    }
    await until(() => isFinished(folder), 'the end of the run', 600_000);
    await until(() => liveLock(folder) === undefined, 'the end of its worker');
    assert.equal(difference(await deedsOf(folder), await deedsOf(unbroken)), undefined);
  });
  tell('workerKills', kills.worker);
  tell('hostKills', kills.host);
  tell('lost', 0);
}

async function isFinished(folder) {
  return fold(await openRun(folder).events()).status === 'finished';
}

async function inEditor(act) {
  const { server, user, close } = await openEditor({ folder: project });
  try {
    await user.openSidebar('Branchpoint');
    await user.row('recorded').waitFor();
    await act({ user, server });
  } catch (error) {
    await user.shoot('long-failed');
    throw error;
  } finally {
    await close();
  }
}

/** Process id of the server's extension host. */
function hostProcess(server) {
  const lines = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).trim().split('\n');
  const host = lines
    .map(line => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .find(([, , parent, args]) => Number(parent) === server.pid && args.includes('extensionHost'));
  assert.ok(host, 'the server has an extension host');
  return Number(host[1]);
}

/** Bytes. */
function hostMemory(server) {
  return (
    1024 * Number(execFileSync('ps', ['-o', 'rss=', '-p', String(hostProcess(server))], { encoding: 'utf8' }))
  );
}

/** Where two values part first; undefined where they do not. (A whole comparison of two runs would be as large as they are.) */
function difference(a, b, path = 'run') {
  if (Object.is(a, b)) return undefined;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
    return `${path}: ${JSON.stringify(a)} is not ${JSON.stringify(b)}`.slice(0, 500);
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = difference(a[key], b[key], `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function seconds(act) {
  const began = performance.now();
  await act();
  return (performance.now() - began) / 1000;
}

function run(args) {
  mkdirSync('out', { recursive: true });
  execFileSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

function seeded(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
