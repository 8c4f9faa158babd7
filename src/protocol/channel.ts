/** One typed conversation over any port. Knows nothing of VS Code, processes or training. */
import type { Failure } from '../core/types.ts';
import { FailureError, errorText } from '../core/types.ts';

/** Three kinds of message, as strings: an ask is always answered or refused, unless the port closes. */
export type Message =
  | { kind: 'ask'; id: number; verb: string; args: unknown[] }
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'refusal'; id: number; failure: Failure };

/** Where messages go out and come in; `listen` returns what stops listening. */
export interface Port {
  post(message: Message): void;
  listen(receive: (message: Message) => void): () => void;
}

/** What a side must implement for the verbs V, and what the other side gets. */
export type Handlers<V> = {
  [K in keyof V]: V[K] extends (...args: infer A) => infer R
    ? (...args: A) => R | Promise<Awaited<R>>
    : never;
};
export type Remote<V> = {
  [K in keyof V]: V[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never;
};

/** Answers asks with the handlers. Returns what stops serving. */
export function serve<V>(port: Port, handlers: Handlers<V>): () => void {
  const answer = async (ask: Extract<Message, { kind: 'ask' }>): Promise<void> => {
    const { id, verb, args } = ask;
    try {
      if (!Object.hasOwn(handlers, verb)) throw new Error(`There is no verb ${verb}.`);
      const handler = handlers[verb as keyof V] as (...args: unknown[]) => unknown;
      port.post({ kind: 'answer', id, value: await handler(...args) });
    } catch (error) {
      port.post({ kind: 'refusal', id, failure: toFailure(error) });
    }
  };
  return port.listen(message => {
    if (message.kind === 'ask') void answer(message);
  });
}

/** Asks the other side. After `close` every open and later ask is rejected with the reason. */
export function connect<V>(port: Port): { remote: Remote<V>; close(reason: string): void } {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let next = 1;
  let closed: string | undefined;
  const stop = port.listen(message => {
    if (message.kind === 'ask') return;
    const caller = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.kind === 'answer') caller?.resolve(message.value);
    else caller?.reject(new FailureError(message.failure));
  });
  const ask = (verb: string, args: unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (closed !== undefined) return reject(new FailureError({ where: 'bug', message: closed }));
      const id = next++;
      waiting.set(id, { resolve, reject });
      port.post({ kind: 'ask', id, verb, args });
    });
  // `then` is absent so that a remote may be returned from an async function without being awaited as a promise.
  const remote = new Proxy({} as Remote<V>, {
    get: (_, verb) =>
      verb === 'then' || typeof verb !== 'string' ? undefined : (...args: unknown[]) => ask(verb, args),
  });
  const close = (reason: string): void => {
    if (closed !== undefined) return;
    closed = reason;
    stop();
    for (const caller of waiting.values()) caller.reject(new FailureError({ where: 'bug', message: reason }));
    waiting.clear();
  };
  return { remote, close };
}

/** An error as data; one that is a Failure already keeps its attribution. */
export function toFailure(error: unknown, where: Failure['where'] = 'bug'): Failure {
  if (error instanceof FailureError) return error.failure;
  return { where, message: errorText(error) };
}
