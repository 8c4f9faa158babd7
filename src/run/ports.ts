/** Ports of the typed channel over a local socket and over a child process. Knows nothing of verbs. */
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Message, Port } from '../protocol/channel.ts';

export interface ClosingPort extends Port {
  /** Called once, at once where the port is closed already; give the reason to the channel's `close`. */
  onClose(listener: (reason: string) => void): void;
  close(): void;
}

/** A line longer than this is no message of ours. */
const LONGEST_LINE = 64 << 20;
const NEWLINE = 10;

/** What both kinds of port need: listeners, messages that came before the first one, and the reason of the end. */
function makeHub(): {
  deliver(message: Message): void;
  end(reason: string): void;
  hasEnded(): boolean;
} & Pick<ClosingPort, 'listen' | 'onClose'> {
  const listeners = new Set<(message: Message) => void>();
  const closeListeners: ((reason: string) => void)[] = [];
  const early: Message[] = [];
  let ended: string | undefined;
  return {
    deliver(message) {
      if (listeners.size === 0) early.push(message);
      for (const listener of [...listeners]) listener(message);
    },
    end(reason) {
      if (ended !== undefined) return;
      ended = reason;
      for (const listener of closeListeners) listener(reason);
    },
    hasEnded: () => ended !== undefined,
    listen(receive) {
      listeners.add(receive);
      for (const message of early.splice(0)) receive(message);
      return () => listeners.delete(receive);
    },
    onClose(listener) {
      if (ended === undefined) closeListeners.push(listener);
      else listener(ended);
    },
  };
}

/** One JSON message per line. Numbers travel as JSON has them; typed arrays do not pass. */
export function socketPort(socket: Socket): ClosingPort {
  const hub = makeHub();
  let rest: Buffer[] = [];
  let restBytes = 0;
  const end = (reason: string): void => {
    hub.end(reason);
    socket.destroy();
  };
  const take = (line: Buffer): void => {
    const message = parseMessage(line);
    if (message) hub.deliver(message);
    else end('The other side sent a line that is no message.');
  };
  socket.on('data', (chunk: Buffer) => {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0 && !hub.hasEnded(); at = chunk.indexOf(NEWLINE, from)) {
      take(Buffer.concat([...rest, chunk.subarray(from, at)]));
      rest = [];
      restBytes = 0;
      from = at + 1;
    }
    rest.push(chunk.subarray(from));
    restBytes += chunk.length - from;
    if (restBytes > LONGEST_LINE) end('The other side sent a line that is too long for a message.');
  });
  socket.on('error', error => end(`The connection failed: ${error.message}`));
  socket.on('close', () => end('The connection was closed.'));
  return {
    ...hub,
    post: message => void (socket.writable && socket.write(`${JSON.stringify(message)}\n`)),
    close: () => end('The connection was closed on this side.'),
  };
}

function parseMessage(line: Buffer): Message | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line));
    return isMessage(value) ? value : undefined;
  } catch {
    // The caller closes the port with a reason.
    return undefined;
  }
}

function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, id, verb, args, failure } = value as Record<string, unknown>;
  if (typeof id !== 'number') return false;
  if (kind === 'ask') return typeof verb === 'string' && Array.isArray(args);
  return kind === 'answer' || (kind === 'refusal' && typeof failure === 'object' && failure !== null);
}

/**
 * The messages of a child process (asked with its ChildProcess) or of its parent (asked with `process`). Fork with
 * serialization 'advanced', so that typed arrays pass as such.
 */
export function processPort(end: ChildProcess | NodeJS.Process): ClosingPort {
  const hub = makeHub();
  const receive = (value: unknown): void => {
    if (isMessage(value)) hub.deliver(value);
    else hub.end('The other process sent something that is no message.');
  };
  end.on('message', receive);
  end.on('disconnect', () => hub.end('The other process has gone.'));
  const close = (): void => {
    hub.end('The channel was closed on this side.');
    if (end.connected) end.disconnect?.();
  };
  const post = (message: Message): void => {
    if (!end.connected) return hub.end('The other process has gone.');
    end.send?.(message, undefined, {}, error => {
      if (error) hub.end(`A message could not be sent: ${error.message}`);
    });
  };
  return { ...hub, post, close };
}
