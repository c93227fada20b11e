import { Agent, type ClientRequest, get as open, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { Controller, Get, Res, StreamableFile } from '@nestjs/common';
import { afterAll, describe, expect, it } from 'vitest';
import { UseLock } from '../../lib/index.js';
import { until } from '../support/until.js';
import { type LockApp, startLockApp } from './lock-app.js';

let file: PassThrough;

@Controller()
class Files {
  @Get('file')
  @UseLock('file', { holdUntil: 'response' })
  file() {
    return new StreamableFile(file);
  }

  @Get('own')
  @UseLock('file', { holdUntil: 'response' })
  own(@Res() response: NodeJS.WritableStream) {
    file.pipe(response);
  }

  @Get('short')
  @UseLock('file', { holdUntil: 'response' })
  short() {
    return 'short';
  }

  @Get('settled')
  @UseLock('settled')
  settled() {
    return new StreamableFile(file);
  }

  @Get('failing')
  @UseLock('file', { holdUntil: 'response' })
  failing() {
    throw new RangeError('no such file');
  }
}

const isHeld = async ({ rival }: LockApp) => (await rival.inspect('file')) !== null;

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
afterAll(() => agent.destroy());

async function request(app: LockApp, path: string): Promise<[IncomingMessage, ClientRequest]> {
  const client = open(`${await app.app.getUrl()}${path}`, { agent });
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    client.on('response', resolve).on('error', reject),
  );
  return [response.on('error', () => undefined), client];
}

/** A client that has read the first bytes of a response that goes on. */
async function startReading(app: LockApp, path: string): Promise<IncomingMessage> {
  file = new PassThrough();
  file.write('first');
  const [response] = await request(app, path);
  await new Promise((resolve) => response.once('data', resolve));
  return response;
}

describe('@UseLock with holdUntil: response', () => {
  it.each(['/file', '/own'])('holds the lock until the client has got everything: %s', async (path) => {
    const app = await startLockApp({ controllers: [Files] });
    await startReading(app, path);
    expect(await isHeld(app)).toBe(true);
    file.end('last');
    await until(async () => !(await isHeld(app)));
    const [response, client] = await request(app, '/failing');
    response.resume();
    expect(client.reusedSocket).toBe(true);
  });

  it.each(['/file', '/own'])('frees the lock when the client goes away: %s', async (path) => {
    const app = await startLockApp({ controllers: [Files] });
    const response = await startReading(app, path);
    expect(await isHeld(app)).toBe(true);
    response.destroy();
    await until(async () => !(await isHeld(app)));
  });

  it('frees the lock when the connection goes while the response waits for its turn', async () => {
    const app = await startLockApp({ controllers: [Files] });
    file = new PassThrough();
    const socket = connect(Number(new URL(await app.app.getUrl()).port), '127.0.0.1');
    socket.write('GET /settled HTTP/1.1\r\nHost: a\r\n\r\nGET /short HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => isHeld(app));
    socket.destroy();
    await until(async () => !(await isHeld(app)));
  });

  it('frees the lock when the handler fails', async () => {
    const app = await startLockApp({ controllers: [Files] });
    expect((await app.get('/failing')).status).toBe(500);
    await until(async () => !(await isHeld(app)));
  });

  it('is not the default: the lock is free once the handler has returned', async () => {
    const app = await startLockApp({ controllers: [Files] });
    const response = await startReading(app, '/settled');
    expect(await app.rival.inspect('settled')).toBeNull();
    response.destroy();
  });
});
