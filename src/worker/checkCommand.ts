/** `check CONFIG|RUN`: prints what the doctor finds, as a table or as JSON. Knows nothing of how it is found. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { checkupLines, wrong, type CheckResult } from '../core/checkup.ts';
import { toFailure } from '../protocol/channel.ts';
import { attributed } from '../run/disk.ts';
import { hasSwitch, type Call, type ExitCode, type Io } from './commandLine.ts';
import { checkConfig, checkRun, isConfigFile } from './doctor.ts';
import { realEquipment } from './equipment.ts';

/** Exit code 1 where something is wrong. */
export async function checkCommand(call: Call, io: Io): Promise<ExitCode> {
  const path = resolve(call.args[0]!);
  const checks = await examine(path, call, io);
  io.out.write(
    hasSwitch(call, 'json') ? `${JSON.stringify({ checks })}\n` : `${checkupLines(checks).join('\n')}\n`,
  );
  return checks.some(({ status }) => status === 'error') ? 1 : 0;
}

const nothing = (path: string): CheckResult =>
  wrong('check', `There is no file or folder ${path}.`, {
    fix: 'Name a config such as NAME.branchpoint.json, or the folder of a run.',
  });

async function examine(path: string, call: Call, io: Io): Promise<CheckResult[]> {
  if (!existsSync(path)) return [nothing(path)];
  try {
    if (!isConfigFile(path)) return await checkRun(path);
    const equipment = realEquipment(text => io.err.write(text));
    return await checkConfig(path, { equipment, tries: !hasSwitch(call, 'quick') });
  } catch (error) {
    const { message, fix } = toFailure(attributed(error, 'try again'));
    return [
      wrong('check', message, {
        ...(!message.includes(path) && { file: path }),
        ...(fix !== undefined && { fix }),
      }),
    ];
  }
}
