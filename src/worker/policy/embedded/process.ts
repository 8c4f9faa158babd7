/** The engine's own program: serves the policy verbs to the process that forked it, and ends with it. */
import { serve } from '../../../protocol/channel.ts';
import { processPort } from '../../../run/ports.ts';
import type { Policy } from '../policy.ts';
import { createEngine } from './engine.ts';

const port = processPort(process);
// Nobody is left to tell, and a blocked run must not keep the process alive.
port.onClose(() => process.exit(0));
// A terminal's Ctrl-C and a service manager's stop reach the whole group: the parent saves first and ends us by the channel.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
serve<Policy>(port, createEngine());
