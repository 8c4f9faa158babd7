import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { FailureError } from '../../src/core/types.ts';
import { connect, serve, toFailure, type Message, type Port } from '../../src/protocol/channel.ts';

interface SumVerbs {
  add(a: number, b: number): number;
  later(value: string): Promise<string>;
  fail(): void;
  refuse(): void;
}

/** Two ends of one wire; messages are copied as a process boundary would. */
function wire(): [Port, Port] {
  const ears: ((message: Message) => void)[][] = [[], []];
  const end = (mine: number): Port => ({
    post: message => queueMicrotask(() => ears[1 - mine]!.forEach(hear => hear(structuredClone(message)))),
    listen(receive) {
      ears[mine]!.push(receive);
      return () => void ears[mine]!.splice(ears[mine]!.indexOf(receive), 1);
    },
  });
  return [end(0), end(1)];
}

const handlers = {
  add: (a: number, b: number) => a + b,
  later: async (value: string) => Promise.resolve(value.toUpperCase()),
  fail: () => {
    throw new TypeError('a wheel came off');
  },
  refuse: () => {
    throw new FailureError({ where: 'tool', message: 'no such corpus', fix: 'Write one.' });
  },
};

describe('a channel', () => {
  it('answers each ask with its own answer, in whatever order they end', async () => {
    const [near, far] = wire();
    serve<SumVerbs>(far, handlers);
    const { remote } = connect<SumVerbs>(near);
    assert.deepEqual(await Promise.all([remote.later('x'), remote.add(2, 3), remote.add(40, 2)]), [
      'X',
      5,
      42,
    ]);
  });

  it('refuses with the failure that the other side attributed, and calls any other error a bug', async () => {
    const [near, far] = wire();
    serve<SumVerbs>(far, handlers);
    const { remote } = connect<SumVerbs>(near);
    await assert.rejects(remote.refuse(), {
      failure: { where: 'tool', message: 'no such corpus', fix: 'Write one.' },
    });
    await assert.rejects(remote.fail(), { failure: { where: 'bug', message: 'a wheel came off' } });
  });

  it('refuses a verb that the other side does not have, inherited names included', async () => {
    const [near, far] = wire();
    serve<SumVerbs>(far, handlers);
    const { remote } = connect<SumVerbs & { dance(): void; toString(): string }>(near);
    await assert.rejects(remote.dance(), /no verb dance/);
    await assert.rejects(remote.toString(), /no verb toString/);
  });

  it('ends every open and later ask when it is closed', async () => {
    const [near] = wire();
    const { remote, close } = connect<SumVerbs>(near);
    const open = remote.add(1, 1);
    close('the worker is gone');
    await assert.rejects(open, /the worker is gone/);
    await assert.rejects(remote.add(1, 1), /the worker is gone/);
  });

  it('stops serving when asked to', async () => {
    const [near, far] = wire();
    const stop = serve<SumVerbs>(far, handlers);
    const { remote, close } = connect<SumVerbs>(near);
    assert.equal(await remote.add(1, 2), 3);
    stop();
    const unheard = remote.add(1, 2);
    await new Promise(done => setImmediate(done));
    close('nobody answers');
    await assert.rejects(unheard, /nobody answers/);
  });

  it('may be returned from an async function without being taken for a promise', async () => {
    const [near, far] = wire();
    serve<SumVerbs>(far, handlers);
    const open = async () => Promise.resolve(connect<SumVerbs>(near).remote);
    assert.equal(await (await open()).add(20, 22), 42);
  });

  it('keeps the place where a failure was attributed, else takes the one given', () => {
    assert.equal(toFailure(new FailureError({ where: 'store', message: 'full' }), 'bug').where, 'store');
    assert.deepEqual(toFailure('odd', 'reward'), { where: 'reward', message: 'odd' });
  });
});
