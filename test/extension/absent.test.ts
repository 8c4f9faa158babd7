import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import {
  noCheckpoint,
  noConfiguration,
  noEvaluation,
  noRollouts,
  noRun,
  noRunIn,
  noTree,
  tooFewRuns,
} from '../../src/extension/absent.ts';
import { COMMANDS } from '../../src/extension/names.ts';

describe('what there is nothing of', () => {
  it('is named, with what was wanted of it', () => {
    const said = [
      noRun('Pause Run', ['running', 'starting'], false),
      noRun('Resume Run', ['paused', 'stopped', 'failed', 'interrupted'], false),
      noRun('Stop Run', ['running'], false),
      noRun('Open Rollout Tree', undefined, false),
      noRun('Configuration Differences to…', undefined, true),
      noTree('/runs/calc-1', true),
      noTree('/runs/calc-1', false),
      noCheckpoint('/runs/calc-1', 10),
      tooFewRuns(1),
    ].map(({ message }) => message);
    assert.deepEqual(said, [
      'Pause Run: no run is running or starting.',
      'Resume Run: no run is paused, stopped, failed or interrupted.',
      'Stop Run: no run is running.',
      'Open Rollout Tree: there is no run yet. The sample has a recorded one.',
      'Configuration Differences to…: there is no other run.',
      'calc-1 has no tree yet: its first step is under way.',
      'calc-1 has no tree.',
      'calc-1 has no checkpoint yet. It saves one every 10 steps (checkpoint.every).',
      'Compare Runs takes two runs at least, and there is one.',
    ]);
  });

  it('leads to a command that helps, about the same run', () => {
    const runFolder = '/runs/calc-1';
    assert.deepEqual(noEvaluation(runFolder).argument, { runFolder });
    assert.deepEqual(noTree(runFolder, true).argument, { runFolder });
    const nexts = [
      ...[noRun('Launch', undefined, false), noEvaluation(runFolder), noConfiguration],
      ...[noRollouts, noRunIn('/runs'), noCheckpoint(runFolder, 1), tooFewRuns(0)],
    ].map(({ next }) => COMMANDS[next].title);
    assert.deepEqual(nexts, [
      ...['Open Sample', 'Evaluate Checkpoint', 'New Run Configuration'],
      ...[
        'Open Rollouts of verl or prime-rl…',
        'Add Runs Folder…',
        'Open the Run’s Configuration',
        'Launch Run',
      ],
    ]);
  });
});
