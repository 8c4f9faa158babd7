#!/usr/bin/env node
/** The program `branchpoint`. Knows nothing but its arguments and its exit code. */
import { runCommandLine } from './commands.ts';

void runCommandLine(process.argv.slice(2), { out: process.stdout, err: process.stderr }).then(code => {
  process.exitCode = code;
});
