/** The command line as one table: what each command takes, and what it is for. Knows nothing of how a command does it. */
import { parseArgs } from 'node:util';
import { errorText } from '../core/types.ts';
import { nearest } from '../core/configValues.ts';
import type { Screen } from './progress.ts';

export interface Io {
  out: Screen;
  err: Screen;
}

export interface OptionSpec {
  /** What the value is called in the usage; absent for a switch. */
  value?: string;
  /** Whether the command refuses to do without it. */
  isNeeded?: true;
  sentence: string;
}

export interface Call {
  command: string;
  args: readonly string[];
  options: Readonly<Record<string, string | boolean | undefined>>;
}

/** Exit codes: 0 done, 1 failed, 2 asked wrongly. */
export type ExitCode = 0 | 1 | 2;

export interface Command {
  /** Positional arguments as the usage shows them; all are needed, and one that ends in … may be given several times. */
  args: readonly string[];
  sentence: string;
  options: Readonly<Record<string, OptionSpec>>;
  run(call: Call, io: Io): Promise<ExitCode>;
}

export type Commands = Readonly<Record<string, Command>>;

/** A command line that cannot be understood; the message says what to write instead. */
export class UsageError extends Error {}

/** Understands a command line, or throws a UsageError. */
export function readCall(commands: Commands, argv: readonly string[]): Call {
  const [name = '', ...rest] = argv;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) throw noCommand(commands, name);
  const { values, positionals } = parse(name, command, rest);
  if (positionals.length < command.args.length)
    throw new UsageError(`${name} needs ${command.args[positionals.length]!}: ${usage(name, command)}`);
  const isOpen = command.args.at(-1)?.endsWith('…') === true;
  if (positionals.length > command.args.length && !isOpen)
    throw new UsageError(
      `${name} does not take ${JSON.stringify(positionals[command.args.length])}: ${usage(name, command)}`,
    );
  return { command: name, args: positionals, options: values };
}

/** A name that is no command; says which one may be meant. */
export function noCommand(commands: Commands, name: string): UsageError {
  const names = Object.keys(commands);
  const meant = nearest(name, names);
  const ask = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return new UsageError(`There is no command ${JSON.stringify(name)}.${ask} Commands: ${names.join(', ')}.`);
}

function parse(
  name: string,
  command: Command,
  args: string[],
): { values: Call['options']; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([option, { value }]) => [
      option,
      { type: value === undefined ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true, strict: true });
    return { values, positionals };
  } catch (error) {
    const [reason] = errorText(error).split('. To specify');
    const known = Object.keys(command.options).map(option => `--${option}`);
    throw new UsageError(`${reason}. Options of ${name}: ${known.length > 0 ? known.join(', ') : 'none'}.`);
  }
}

/** The value of an option that is text, or undefined where it is absent. */
export function textOption(call: Call, name: string): string | undefined {
  const value = call.options[name];
  return typeof value === 'string' ? value : undefined;
}

/** The value of an option that is a whole number of at least `least`. */
export function numberOption(call: Call, name: string, least: number): number | undefined {
  const text = textOption(call, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least)
    throw new UsageError(
      `--${name} must be a whole number of at least ${least}, not ${JSON.stringify(text)}.`,
    );
  return value;
}

export const hasSwitch = (call: Call, name: string): boolean => call.options[name] === true;

/** What a command came to as its last line, where `--json` asks for it. */
export function writeJson(call: Call, io: Io, result: object): void {
  if (hasSwitch(call, 'json')) io.out.write(`${JSON.stringify(result)}\n`);
}

export const usage = (name: string, { args, options }: Command): string =>
  [
    `branchpoint ${name}`,
    ...args,
    ...Object.entries(options).map(([option, { value, isNeeded }]) => {
      const written = `--${option}${value === undefined ? '' : ` ${value}`}`;
      return isNeeded ? written : `[${written}]`;
    }),
  ].join(' ');

/** What `help` prints: every command, or one with its options. */
export function helpText(commands: Commands, name?: string): string {
  const command = name === undefined || !Object.hasOwn(commands, name) ? undefined : commands[name];
  if (command && name !== undefined) {
    const heads = Object.entries(command.options).map(
      ([option, { value }]) => `  --${option}${value === undefined ? '' : ` ${value}`}`,
    );
    const width = Math.max(20, ...heads.map(({ length }) => length + 2));
    const options = Object.values(command.options).map(
      ({ sentence, isNeeded }, i) => heads[i]!.padEnd(width) + sentence + (isNeeded ? ' Needed.' : ''),
    );
    return [
      usage(name, command),
      '',
      command.sentence,
      ...(options.length > 0 ? ['', ...options] : []),
      '',
    ].join('\n');
  }
  const rows = Object.entries(commands).map(
    ([command, { args, sentence }]) => `  ${command} ${args.join(' ')}`.padEnd(30) + sentence,
  );
  return [
    'Branchpoint trains tool-using LLM agents with ARPO, AEPO and their baselines.',
    '',
    ...rows,
    '',
    'CONFIG is a file such as NAME.branchpoint.json, RUN the folder of a run, such as runs/NAME-1.',
    '`branchpoint help COMMAND` lists its options, `branchpoint --version` tells the version.',
    'Exit codes: 0 done, 1 failed or something is wrong, 2 asked wrongly or the config is.',
    '',
  ].join('\n');
}
