import { get as open } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { Controller, Get, Res, StreamableFile } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
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

  @Get('settled')
  @UseLock('file')
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

/** A client that has read the first bytes of a response that goes on. */
async function startReading({ app }: LockApp, path: string) {
  file = new PassThrough();
  file.write('first');
  const url = `${await app.getUrl()}${path}`;
  const response = await new Promise<Readable>((resolve) => open(url, resolve).on('error', () => undefined));
  await new Promise((resolve) => response.once('data', resolve));
  return response.on('error', () => undefined);
}

describe('@UseLock with holdUntil: response', () => {
  it.each(['/file', '/own'])('holds the lock until the client has got everything: %s', async (path) => {
    const app = await startLockApp({ controllers: [Files] });
    await startReading(app, path);
    expect(await isHeld(app)).toBe(true);
    file.end('last');
    await until(async () => !(await isHeld(app)));
  });

  it.each(['/file', '/own'])('frees the lock when the client goes away: %s', async (path) => {
    const app = await startLockApp({ controllers: [Files] });
    const response = await startReading(app, path);
    expect(await isHeld(app)).toBe(true);
    response.destroy();
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
    expect(await isHeld(app)).toBe(false);
    response.destroy();
  });
});
