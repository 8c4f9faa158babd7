/**
 * Fills the workspace of the tests in a real VS Code: recorded runs, broken ones, and a configuration whose policy is tiny
 * but real. Run before VS Code starts: `workspace.ts FOLDER`. Knows nothing of VS Code.
 */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../../src/core/config.ts';
import { FILES } from '../../src/run/layout.ts';
import { TINY_ROLLOUT, writeConfig } from '../fakes/commandLine.ts';
import { makeTinyModel } from '../fakes/tinyModel.ts';
import { createTinyRun, makeTinyRun } from '../fakes/tinyRun.ts';
import { sums } from '../fakes/tinyWorld.ts';

/** A configuration with one key that is not there and one value that is out of range. */
const WRONG = `// Two mistakes.
{
  "runs": "runs",
  "policy": { "path": "policy" },
  "data": { "train": "tasks.jsonl" },
  "stepz": 3,
  "rollout": { "groupSize": 1 }
}
`;

await fill(resolve(process.argv[2]!));

async function fill(workspace: string): Promise<void> {
  rmSync(workspace, { recursive: true, force: true });
  const recorded = join(workspace, 'recorded');
  await makeTinyRun(recorded, {
    change: config => {
      named('whole')(config);
      config.record.alternatives = 3;
    },
  });
  const torn = await makeTinyRun(recorded, { steps: 2, change: named('torn') });
  tear(join(torn.folder, FILES.events));
  await makeTinyRun(recorded, { steps: 1, change: named('young') });
  await createTinyRun(recorded, { change: named('empty') });
  const newer = await makeTinyRun(recorded, { steps: 1, change: named('newer') });
  ageManifest(newer.folder);
  // What makes the explorer look into the folder of the recorded runs.
  writeFileSync(
    join(workspace, 'recorded.branchpoint.json'),
    '{ "runs": "recorded", "policy": { "path": "small/policy" }, "data": { "train": "small/tasks.jsonl" } }\n',
  );
  grow(join(workspace, 'apart'));
  await makeLaunchable(join(workspace, 'small'));
  writeFileSync(join(workspace, 'wrong.branchpoint.json'), WRONG);
}

function named(name: string): (config: Config) => void {
  return config => {
    config.name = name;
  };
}

/** As a crash leaves it: half of the last line is missing, and so is the fact that the run ended. */
function tear(path: string): void {
  const text = readFileSync(path, 'utf8');
  const lastLine = text.lastIndexOf('\n', text.length - 2) + 1;
  truncateSync(path, statSync(path).size - Math.floor((text.length - lastLine) / 2));
}

/** The recorded run of the sample, whole; once more, as it was while its last step grew; and a folder that is no run. */
function grow(folder: string): void {
  cpSync('media/sample/run', join(folder, 'sample-1'), { recursive: true });
  const growing = join(folder, 'growing-1');
  cpSync('media/sample/run', growing, { recursive: true });
  const events = readFileSync(join(growing, FILES.events), 'utf8').split(/(?<=\n)/);
  const lastStep = events.findLastIndex(line => line.includes('"type":"step-started"'));
  const answered = events.findIndex((line, i) => i > lastStep && line.includes('"type":"tool-answered"'));
  writeFileSync(join(growing, FILES.events), events.slice(0, answered + 1).join(''));
  const trees = readFileSync(join(growing, FILES.trees), 'utf8').split(/(?<=\n)/);
  writeFileSync(join(growing, FILES.trees), trees.filter(line => !line.startsWith('{"id":"18.')).join(''));
  mkdirSync(join(folder, 'no-run'));
  writeFileSync(join(folder, 'no-run', FILES.trees), 'these are no trees\n');
}

/** As a version of the program that is not yet written would leave it. */
function ageManifest(folder: string): void {
  const path = join(folder, FILES.manifest);
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as { format: { major: number } };
  manifest.format.major += 1;
  writeFileSync(path, JSON.stringify(manifest));
}

/** Random weights, real tokens and a real engine; quick steps without tools, more of them than a test waits for. */
async function makeLaunchable(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await makeTinyModel(join(folder, 'policy'));
  for (const task of sums(16))
    appendFileSync(
      join(folder, 'tasks.jsonl'),
      `${JSON.stringify({ question: task.messages[0]!.content, answer: task.references[0] })}\n`,
    );
  writeConfig(folder, 'small', {
    preset: 'arpo',
    name: 'small',
    steps: 5000,
    policy: { path: 'policy' },
    rollout: { ...TINY_ROLLOUT, tasksPerStep: 4, maxResponseTokens: 96 },
    algorithm: { updatesPerStep: 1, entropyBonus: 0.1 },
    evaluation: { tasks: 3, samples: 2, before: false, after: false },
    checkpoint: { every: 5, keep: 1 },
  });
}
