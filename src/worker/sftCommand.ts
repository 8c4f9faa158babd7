/** `sft CONFIG DEMONSTRATIONS`: a cold start from demonstrations, resumable. Knows nothing of how rows are made or learned. */
import { resolve } from 'node:path';
import type { Config } from '../core/config.ts';
import { plain } from '../core/figures.ts';
import { loadConfig } from '../run/configFile.ts';
import { elapsed } from '../run/clock.ts';
import {
  UsageError,
  numberOption,
  textOption,
  writeJson,
  type Call,
  type ExitCode,
  type Io,
} from './commandLine.ts';
import { openDemonstrations } from './demonstrations.ts';
import { engineSettings, realEquipment } from './equipment.ts';
import { SFT_DEFAULTS, runSft, type SftProgress, type SftSettings, type SftState } from './sft.ts';
import { openTuned, saveTuned } from './tunedFolder.ts';

const TELL_EVERY = 20;

export async function sftCommand(call: Call, io: Io): Promise<ExitCode> {
  const { config } = loadConfig(resolve(call.args[0]!));
  const out = textOption(call, 'out');
  if (out === undefined)
    throw new UsageError('sft needs --out DIR: the folder that the new policy is written to.');
  const folder = resolve(out);
  const settings = settingsOf(call, config);
  const demonstrations = await openDemonstrations(resolve(call.args[1]!), config.seed);
  const equipment = realEquipment(text => io.err.write(text));
  const tokenizer = await equipment.openTokenizer(config.policy.path);
  const from = openTuned(folder);
  const lengths = { maxPromptTokens: 0, maxResponseTokens: settings.maxRowTokens };
  const longest = {
    ...config,
    rollout: { ...config.rollout, ...lengths },
    evaluation: { ...config.evaluation, tasks: 0 },
  };
  const opening = engineSettings(longest, 'training', { folder: config.policy.path, tokenizer, tags: [] });
  const { policy, info } = await equipment.openPolicy(opening);
  io.out.write(
    `${info.parameters.toLocaleString('en')} parameters on ${info.device}, ${settings.tokens.toLocaleString('en')} tokens to read\n`,
  );
  const stop = new AbortController();
  const heed = (): void => stop.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, heed);
  try {
    if (from) await policy.load(folder);
    const save = (state: SftState): Promise<void> => saveTuned(folder, { policy, tokenizer, state });
    const tell = teller(io, settings);
    const work = { policy, tokenizer, demonstrations, settings, tell, save, signal: stop.signal };
    const end = await runSft({ ...work, ...(from && { from }) });
    io.out.write(
      `${stop.signal.aborted ? 'stopped' : 'finished'} after ${end.updates} updates; the policy is in ${folder}\n`,
    );
    writeJson(call, io, { policy: folder, ...end, outcome: stop.signal.aborted ? 'stopped' : 'finished' });
    return 0;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, heed);
    await policy.close();
  }
}

/** What the config has no key for comes from ARPO's own cold start, and from the command line. */
function settingsOf(call: Call, { rollout }: Config): SftSettings {
  const rate = textOption(call, 'rate');
  const learningRate = rate === undefined ? SFT_DEFAULTS.learningRate : Number(rate);
  if (!(learningRate > 0 && learningRate < 1))
    throw new UsageError(`--rate must be a number between 0 and 1, not ${JSON.stringify(rate)}.`);
  const tokens = numberOption(call, 'tokens', 1);
  if (tokens === undefined) throw new UsageError('sft needs --tokens N: how many tokens to read in all.');
  return {
    ...SFT_DEFAULTS,
    tokens,
    learningRate,
    rowsPerUpdate: numberOption(call, 'rows', 1) ?? SFT_DEFAULTS.rowsPerUpdate,
    maxRowTokens: rollout.maxPromptTokens + rollout.maxResponseTokens,
  };
}

function teller(io: Io, settings: SftSettings): (progress: SftProgress) => void {
  const started = elapsed();
  return ({ updates, tokens, loss, gradientNorm, learningRate, applied }) => {
    if (!applied) io.out.write(`update ${updates}: the gradient was not finite, nothing was changed\n`);
    if (updates % TELL_EVERY !== 0) return;
    const share = ((100 * tokens) / settings.tokens).toFixed(1);
    const seconds = ((elapsed() - started) / 1000).toFixed(0);
    io.out.write(
      `update ${updates}  ${share} % read  loss ${plain(loss, 4)}  grad ${plain(gradientNorm)}  rate ${learningRate.toExponential(2)}  ${seconds} s\n`,
    );
  };
}
