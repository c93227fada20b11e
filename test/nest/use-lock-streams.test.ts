import { request } from 'node:http';
import { Controller, Get, Injectable, Sse } from '@nestjs/common';
import {
  firstValueFrom,
  lastValueFrom,
  NEVER,
  type Observable,
  of,
  Subject,
  throwError,
  toArray,
} from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { CurrentLock, type HeldLock, LockLostError, UseLock } from '../../lib/index.js';
import { signalled, until } from '../support/until.js';
import { type LockApp, startLockApp } from './lock-app.js';

@Injectable()
class Streams {
  source: Observable<unknown> = NEVER;

  @UseLock('stream')
  open(): Promise<Observable<unknown>> {
    return Promise.resolve(this.source);
  }
}

const start = async (source: Observable<unknown>) => {
  const started = await startLockApp({ providers: [Streams], options: { lease: '300ms' } });
  const streams = started.app.get(Streams);
  streams.source = source;
  return { ...started, stream: await streams.open() };
};

const isHeld = async ({ rival }: Pick<LockApp, 'rival'>) => (await rival.inspect('stream')) !== null;

describe('A locked method that returns an Observable', () => {
  it('holds the lock until it has completed, and completes when the lock is free', async () => {
    const source = new Subject();
    const { stream, rival } = await start(source);
    expect(await isHeld({ rival })).toBe(true);
    const values = lastValueFrom(stream.pipe(toArray()));
    source.next(1);
    source.next(2);
    expect(await isHeld({ rival })).toBe(true);
    source.complete();
    expect(await values).toEqual([1, 2]);
    expect(await isHeld({ rival })).toBe(false);
  });

  it('frees the lock when it fails, and passes the error on as it is', async () => {
    const error = new RangeError('torn');
    const { stream, rival } = await start(throwError(() => error));
    await expect(lastValueFrom(stream)).rejects.toBe(error);
    expect(await isHeld({ rival })).toBe(false);
  });

  it('frees the lock when its last subscriber leaves', async () => {
    const { stream, rival } = await start(NEVER);
    const [first, second] = [stream.subscribe(), stream.subscribe()];
    first.unsubscribe();
    expect(await isHeld({ rival })).toBe(true);
    second.unsubscribe();
    await until(async () => !(await isHeld({ rival })));
  });

  it('never runs a second time without the lock', async () => {
    const { stream } = await start(of(1));
    expect(await firstValueFrom(stream)).toBe(1);
    await expect(firstValueFrom(stream)).rejects.toThrow(new LockLostError('stream', 'released'));
  });

  it('fails when the lock is lost, and lets go of its source', async () => {
    const source = new Subject();
    const { stream, rival } = await start(source);
    const end = lastValueFrom(stream);
    await rival.forceRelease('stream', { token: (await rival.inspect('stream'))!.token });
    await expect(end).rejects.toThrow(LockLostError);
    expect(source.observed).toBe(false);
  });
});

/** Opens a request and leaves it to the test to destroy it. */
async function open({ app }: LockApp, path: string) {
  const client = request(`${await app.getUrl()}${path}`).on('error', () => undefined);
  client.end();
  return client;
}

describe('A locked route that streams', () => {
  const subscribed: string[] = [];
  let ready = signalled();

  @Controller()
  class Events {
    @Sse('events')
    @UseLock('stream')
    events(@CurrentLock() lock: HeldLock) {
      subscribed.push(lock.name);
      return Promise.resolve(new Subject().asObservable());
    }

    @Sse('slow')
    @UseLock('stream')
    async slow() {
      await ready.promise;
      return new Subject().asObservable();
    }

    @Get('last')
    @UseLock('stream')
    last() {
      return of(1, 2);
    }
  }

  it('answers with the last value and frees the lock', async () => {
    const app = await startLockApp({ controllers: [Events] });
    expect(await app.get('/last')).toEqual({ status: 200, body: '2' });
    expect(await isHeld(app)).toBe(false);
  });

  it('holds the lock as long as its client stays', async () => {
    const app = await startLockApp({ controllers: [Events] });
    const client = await open(app, '/events');
    await until(() => isHeld(app));
    client.destroy();
    await until(async () => !(await isHeld(app)));
  });

  it('leaves no lock behind when its client goes while it waits', async () => {
    const app = await startLockApp({ controllers: [Events], options: { wait: '1m' } });
    const held = await app.rival.acquire('stream');
    subscribed.length = 0;
    const run = vi.spyOn(app.locks, 'run');
    const client = await open(app, '/events');
    await until(() => run.mock.results.length > 0);
    client.destroy();
    await expect(run.mock.results[0]?.value).rejects.toThrow('abort');
    await held.release();
    expect(subscribed).toEqual([]);
    expect(await app.rival.tryAcquire('stream')).not.toBeNull();
  });

  it('leaves no lock behind when its client goes before there is an Observable', async () => {
    const app = await startLockApp({ controllers: [Events] });
    ready = signalled();
    const run = vi.spyOn(app.locks, 'run');
    const client = await open(app, '/slow');
    await until(() => isHeld(app));
    const signal = run.mock.calls[0]![1].signal;
    client.destroy();
    await until(() => signal!.aborted);
    expect(await isHeld(app)).toBe(true);
    ready.resolve();
    await until(async () => !(await isHeld(app)));
  });
});
