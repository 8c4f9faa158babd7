/** Every command of the program, in one table. Knows nothing of how a command does its work. */
import {
  helpText,
  noCommand,
  readCall,
  UsageError,
  type Commands,
  type ExitCode,
  type Io,
} from './commandLine.ts';
import { FailureError } from '../core/types.ts';
import { attributed } from '../run/disk.ts';
import { branchCommand } from './branchCommand.ts';
import { checkCommand } from './checkCommand.ts';
import { compareCommand } from './compareCommand.ts';
import { evaluateCommand } from './evaluateCommand.ts';
import { exportCommand } from './exportCommand.ts';
import { pauseCommand, resumeCommand, stopCommand, trainCommand, versions } from './launch.ts';
import { replayCommand } from './replayCommand.ts';
import { rescoreCommand } from './rescoreCommand.ts';
import { scoreCommand } from './scoreCommand.ts';
import { SFT_DEFAULTS } from './sft.ts';
import { sftCommand } from './sftCommand.ts';
import { showCommand } from './showCommand.ts';

const JSON_OPTION = { sentence: 'Print the result as one line of JSON, last.' };
const DETACH = { sentence: 'Work in a process of its own that outlives this one; print the run folder.' };
const WAIT = {
  sentence: 'Wait for somebody to mend a full disk or a dead tool, also where the output is no terminal.',
};

export const COMMANDS: Commands = {
  train: {
    args: ['CONFIG'],
    sentence: 'Train a policy as the config says, in a new run folder.',
    options: {
      out: { value: 'DIR', sentence: 'Make the run folder in DIR.' },
      seed: { value: 'N', sentence: 'Use another seed.' },
      steps: { value: 'N', sentence: 'Do N steps.' },
      name: { value: 'NAME', sentence: 'Call the run folder NAME-<n>.' },
      'dry-run': { sentence: 'Do one step, print its time, memory and numbers, and keep nothing.' },
      detach: DETACH,
      wait: WAIT,
      json: JSON_OPTION,
    },
    run: trainCommand,
  },
  resume: {
    args: ['RUN'],
    sentence: 'Go on with a run: lift its pause, or start from its last checkpoint.',
    options: { detach: DETACH, wait: WAIT, json: JSON_OPTION },
    run: resumeCommand,
  },
  pause: {
    args: ['RUN'],
    sentence: 'Pause a run after the step that it is in, with a checkpoint saved.',
    options: { json: JSON_OPTION },
    run: pauseCommand,
  },
  stop: {
    args: ['RUN'],
    sentence: 'Stop a run after the step that it is in, with a checkpoint saved.',
    options: { json: JSON_OPTION },
    run: stopCommand,
  },
  eval: {
    args: ['RUN|CHECKPOINT'],
    sentence: 'Measure a policy on the held-out tasks.',
    options: {
      config: {
        value: 'CONFIG',
        sentence: 'Take data, tools and rollout from this config instead of the run’s.',
      },
      tasks: { value: 'N', sentence: 'Use the first N tasks.' },
      samples: { value: 'N', sentence: 'Sample N trajectories per task.' },
      html: { value: 'FILE', sentence: 'Write the report as one self-contained page, too.' },
      json: JSON_OPTION,
    },
    run: evaluateCommand,
  },
  compare: {
    args: ['CONFIG…'],
    sentence: 'Train several configs under several seeds on the same tasks, and set them side by side.',
    options: {
      seeds: { value: '1,2,3', sentence: 'Seeds of every config.' },
      steps: { value: 'N', sentence: 'Do N steps.' },
      tasks: { value: 'N', sentence: 'Evaluate on the first N held-out tasks.' },
      samples: { value: 'N', sentence: 'Sample N trajectories per held-out task.' },
      out: { value: 'DIR', sentence: 'Keep the runs in DIR; what finished there is not repeated.' },
      baseline: { value: 'NAME', sentence: 'Compare with this config; else with the one of preset grpo.' },
      jobs: { value: 'N', sentence: 'Train N at a time; else as many as cores allow.' },
      json: JSON_OPTION,
    },
    run: compareCommand,
  },
  show: {
    args: ['RUN'],
    sentence: 'Show a run’s steps, or the trees of a step with entropies, decisions, rewards and advantages.',
    options: {
      step: { value: 'N', sentence: 'Show the trees of step N.' },
      tree: { value: 'ID', sentence: 'Show one tree, such as 3.0.' },
      json: { sentence: 'Print JSON, one line per step or tree.' },
    },
    run: showCommand,
  },
  branch: {
    args: ['RUN'],
    sentence: 'Go on from a stored trajectory, beside the training, and see what it would have earned.',
    options: {
      tree: { value: 'ID', isNeeded: true, sentence: 'Leave this tree, such as 3.0.' },
      path: { value: 'P', isNeeded: true, sentence: 'Leave its trajectory P.' },
      segment: {
        value: 'S',
        isNeeded: true,
        sentence: 'Go on after its segment S; the call of a turn is made again.',
      },
      token: { value: 'T', sentence: 'Keep T tokens of the turn S, and draw its rest; 0 draws it again.' },
      'tool-result': {
        value: 'FILE|TEXT',
        sentence: 'Put this in the place of the tool’s result that stands there.',
      },
      temperature: { value: 'X', sentence: 'Sample at this temperature; else at the run’s.' },
      checkpoint: {
        value: 'step-N|initial',
        sentence: 'Sample with these weights; else with the newest checkpoint, or the initial policy.',
      },
      samples: { value: 'N', sentence: 'Draw N continuations; else 4.' },
      seed: { value: 'K', sentence: 'Use this seed; else one that is new to the tree.' },
      json: JSON_OPTION,
    },
    run: branchCommand,
  },
  replay: {
    args: ['RUN'],
    sentence: 'Draw stored trees again as they were drawn, and see whether they come out the same.',
    options: {
      step: { value: 'N', sentence: 'Draw the trees of step N.' },
      tree: { value: 'ID|I', sentence: 'Draw only this tree, such as 3.0, or tree I of the step.' },
      tools: {
        value: 'stored|live',
        sentence: 'Answer calls as they were answered, or call the tools anew; else stored.',
      },
      trees: { sentence: 'With --json, print the trees that were drawn, too.' },
      json: JSON_OPTION,
    },
    run: replayCommand,
  },
  rescore: {
    args: ['RUN'],
    sentence: 'Score stored trajectories under other reward settings, and see what would have changed.',
    options: {
      reward: {
        value: 'FILE',
        isNeeded: true,
        sentence: 'JSON with reward keys such as accuracy, or a config.',
      },
      steps: { value: 'A-B|all', sentence: 'Only these steps; else all that were kept.' },
      json: JSON_OPTION,
    },
    run: rescoreCommand,
  },
  score: {
    args: ['RUN'],
    sentence: 'Score a stored trajectory under two checkpoints, and see what training made likelier.',
    options: {
      tree: { value: 'ID', isNeeded: true, sentence: 'Of this tree, such as 3.0.' },
      path: { value: 'P', isNeeded: true, sentence: 'The trajectory P.' },
      checkpoints: {
        value: 'A,B',
        isNeeded: true,
        sentence: 'Two of step-N and initial, before and after.',
      },
      json: JSON_OPTION,
    },
    run: scoreCommand,
  },
  export: {
    args: ['RUN'],
    sentence: 'Write a run’s right trajectories as demonstrations for sft, in ShareGPT form.',
    options: {
      sft: { value: 'FILE', isNeeded: true, sentence: 'The JSON Lines file to write.' },
      each: { value: 'N', sentence: 'Trajectories of one task, those of the highest reward first; else 1.' },
      json: JSON_OPTION,
    },
    run: exportCommand,
  },
  sft: {
    args: ['CONFIG', 'DEMONSTRATIONS'],
    sentence: 'Fine-tune the config’s policy on demonstrations (a cold start), tool text left out.',
    options: {
      out: {
        value: 'DIR',
        isNeeded: true,
        sentence: 'Folder for the new policy; what an interrupted fine-tuning left there is gone on with.',
      },
      tokens: { value: 'N', isNeeded: true, sentence: 'Read N tokens in all.' },
      rows: { value: 'N', sentence: `Demonstrations per update; else ${SFT_DEFAULTS.rowsPerUpdate}.` },
      rate: { value: 'X', sentence: `Highest learning rate; else ${SFT_DEFAULTS.learningRate}.` },
      json: JSON_OPTION,
    },
    run: sftCommand,
  },
  check: {
    args: ['CONFIG|RUN'],
    sentence:
      'Look at all that a config needs, or at all that a run wrote; exit code 1 where something is wrong.',
    options: {
      quick: { sentence: 'Do not open the policy: no trees are grown.' },
      json: { sentence: 'Print {"checks": […]} as one line of JSON.' },
    },
    run: checkCommand,
  },
  help: {
    args: [],
    sentence: 'Print this.',
    options: {},
    run: (_, io) => {
      io.out.write(helpText(COMMANDS));
      return Promise.resolve(0);
    },
  },
};

/** Understands the arguments, does what they ask and says what went wrong; never rejects. */
export async function runCommandLine(argv: readonly string[], io: Io): Promise<ExitCode> {
  const [first = 'help', second] = argv;
  if (['--help', '-h'].includes(first)) return show(helpText(COMMANDS), io);
  if (['--version', '-v'].includes(first)) return show(`branchpoint ${versions()['branchpoint']}\n`, io);
  const asksForHelp = argv.includes('--help') || argv.includes('-h');
  const asked = asksForHelp ? first : first === 'help' ? second : undefined;
  if (asked !== undefined)
    return Object.hasOwn(COMMANDS, asked)
      ? show(helpText(COMMANDS, asked), io)
      : complain(noCommand(COMMANDS, asked), io);
  try {
    const call = readCall(COMMANDS, argv.length === 0 ? ['help'] : argv);
    return await COMMANDS[call.command]!.run(call, io);
  } catch (error) {
    return complain(error, io);
  }
}

function show(text: string, io: Io): ExitCode {
  io.out.write(text);
  return 0;
}

/** A failure in the words of its cause; anything else is a mistake of ours and shows its stack. */
function complain(thrown: unknown, io: Io): ExitCode {
  const error = attributed(thrown, 'try again');
  if (error instanceof UsageError) {
    io.err.write(`branchpoint: ${error.message}\n`);
    return 2;
  }
  if (error instanceof FailureError) {
    const { message, fix, where } = error.failure;
    io.err.write(`branchpoint: ${message}${fix === undefined ? '' : `\n${fix}`}\n`);
    return where === 'config' ? 2 : 1;
  }
  io.err.write(`branchpoint: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return 1;
}
