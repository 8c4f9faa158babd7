import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as dial, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import { connect, serve, type Message } from '../../src/protocol/channel.ts';
import { processPort, socketPort } from '../../src/run/ports.ts';

interface Echo {
  echo(text: string): string;
  sum(numbers: Float32Array): Float32Array;
}

describe('a port over a socket', () => {
  let server: Server;
  let near: Socket;
  let far: Socket;
  beforeEach(async () => {
    server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const accepted = once(server, 'connection');
    near = dial((server.address() as { port: number }).port, '127.0.0.1');
    far = ((await accepted) as [Socket])[0];
  });
  afterEach(() => {
    near.destroy();
    far.destroy();
    server.close();
  });

  const reasonOf = (socket: Socket): Promise<string> =>
    new Promise(resolve => socketPort(socket).onClose(resolve));
  const ask = (verb: string): Message => ({ kind: 'ask', id: 1, verb, args: [] });

  it('carries asks and answers both ways, newlines and every script in them', async () => {
    const text = 'a\nb\r\n"é🦙ខ្មែរ\u2028';
    serve<Pick<Echo, 'echo'>>(socketPort(far), { echo: each => `${each}!` });
    const { remote } = connect<Pick<Echo, 'echo'>>(socketPort(near));
    assert.equal(await remote.echo(text), `${text}!`);
    const many = await Promise.all(Array.from({ length: 100 }, (_, i) => remote.echo(`${i}`.repeat(1000))));
    assert.ok(many.every((answer, i) => answer === `${`${i}`.repeat(1000)}!`));
  });

  it('puts lines together that arrive in pieces, cut within a character too', async () => {
    const port = socketPort(near);
    const got = new Promise<Message>(resolve => port.listen(resolve));
    for (const byte of Buffer.from(`${JSON.stringify(ask('🦙 é'))}\n`)) {
      far.write(Uint8Array.of(byte));
      await new Promise(resolve => setImmediate(resolve));
    }
    assert.deepEqual(await got, ask('🦙 é'));
  });

  it('keeps messages that come before anybody listens', async () => {
    const port = socketPort(near);
    far.write(`${JSON.stringify(ask('one'))}\n${JSON.stringify(ask('two'))}\n`);
    await once(near, 'data');
    const got: Message[] = [];
    port.listen(message => got.push(message));
    assert.deepEqual(got, [ask('one'), ask('two')]);
  });

  it('closes with a reason on what is no message, and delivers nothing after it', async () => {
    for (const line of [
      '{',
      '7',
      'null',
      '{"kind":"ask","id":1}',
      '{"kind":"refusal","id":1}',
      '{"kind":"x","id":1}',
    ]) {
      const socket = dial((server.address() as { port: number }).port, '127.0.0.1');
      const [other] = (await once(server, 'connection')) as [Socket];
      const port = socketPort(socket);
      port.listen(() => assert.fail('a message was delivered'));
      const reason = new Promise<string>(resolve => port.onClose(resolve));
      other.write(`${line}\n${JSON.stringify(ask('late'))}\n`);
      assert.match(await reason, /no message/, line);
      other.destroy();
    }
    const reason = reasonOf(near);
    far.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
    assert.match(await reason, /no message/);
  });

  it('tells when the other side has gone, also who asks later, and open asks are rejected', async () => {
    const port = socketPort(near);
    const { remote, close } = connect<Echo>(port);
    port.onClose(close);
    const open = remote.echo('never answered');
    far.destroy();
    await assert.rejects(open, /connection was closed/);
    assert.match(await new Promise<string>(resolve => port.onClose(resolve)), /connection was closed/);
    await assert.rejects(remote.echo('later'), /connection was closed/);
  });
});

describe('a port over a child process', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ports-'));
    const src = join(import.meta.dirname, '../../src');
    await writeFile(
      join(folder, 'child.ts'),
      `import { serve } from '${join(src, 'protocol/channel.ts')}';
       import { processPort } from '${join(src, 'run/ports.ts')}';
       const port = processPort(process);
       port.onClose(() => process.exit(0));
       serve(port, { sum: numbers => numbers.map(x => 2 * x), echo: () => process.exit(3) });`,
    );
  });
  after(() => rm(folder, { recursive: true }));

  it('passes typed arrays as such, tells when the child has gone, and a child notices that its parent has', async () => {
    const start = () => fork(join(folder, 'child.ts'), [], { serialization: 'advanced', execArgv: [] });
    const child = start();
    const port = processPort(child);
    const { remote, close } = connect<Echo>(port);
    port.onClose(close);
    const numbers = Float32Array.of(0, 1.5, NaN, 7).subarray(1);
    assert.deepEqual(await remote.sum(numbers), Float32Array.of(3, NaN, 14));
    await assert.rejects(remote.echo('ends it'), /has gone/);

    const orphan = start();
    await once(orphan, 'spawn');
    processPort(orphan).close();
    assert.deepEqual(await once(orphan, 'exit'), [0, null]);
  });
});
