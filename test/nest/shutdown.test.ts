import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import knex from 'knex';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  LockModule,
  type LockModuleOptions,
  LockService,
  LockShutdownError,
  LockTimeoutError,
} from '../../lib/index.js';
import { LockProcess } from '../support/lock-process.js';
import { serversUnderTest } from '../support/servers.js';
import { signalled, until } from '../support/until.js';
import { connection, startRival } from './lock-app.js';

/** Says what it holds, by name. */
const heldIn = async (locks: LockService) => (await locks.list()).map(({ name }) => name);

async function start(options: Partial<LockModuleOptions> = {}, providers: (new () => unknown)[] = []) {
  const module = await Test.createTestingModule({
    imports: [LockModule.forRoot({ connection: connection(), wait: 0, ...options })],
    providers,
  }).compile();
  onTestFinished(() => module.close());
  const app = await module.init();
  return { app, locks: app.get(LockService) };
}

describe.each(serversUnderTest())('An application that shuts down ($flavor)', ({ flavor }) => {
  const on = (table: string) => ({ connection: connection(flavor), table });

  it('frees exactly its own locks', async () => {
    const { app, locks } = await start(on('own'));
    const rival = await startRival(on('own'));
    for (const name of ['a1', 'a2', 'a3']) await locks.acquire(name);
    for (const name of ['b1', 'b2']) await rival.acquire(name);
    await app.close();
    expect(await heldIn(rival)).toEqual(['b1', 'b2']);
  });

  it('refuses new locks, calls off waiters and lets running work finish before it frees its lock', async () => {
    const { app, locks } = await start(on('drain'));
    const rival = await startRival(on('drain'));
    await rival.acquire('busy');
    const work = signalled<string>();
    const running = locks.run('work', () => work.promise);
    const waiting = locks.acquire('busy', { wait: Infinity }).catch((error: unknown) => error);
    await until(async () => (await heldIn(rival)).includes('work'));
    let isClosed = false;
    const closed = app.close().then(() => (isClosed = true));
    expect(await waiting).toBeInstanceOf(LockShutdownError);
    await expect(locks.acquire('new')).rejects.toThrow(LockShutdownError);
    expect(await heldIn(rival)).toEqual(['busy', 'work']);
    expect(isClosed).toBe(false);
    work.resolve('done');
    expect(await running).toBe('done');
    await closed;
    expect(await heldIn(rival)).toEqual(['busy']);
  });

  it('does not free the lock of work that overruns the drain', async () => {
    const { app, locks } = await start({ ...on('overrun'), drain: '50ms' });
    const rival = await startRival(on('overrun'));
    const work = signalled();
    const running = locks.run('work', () => work.promise);
    await until(async () => (await heldIn(rival)).includes('work'));
    await app.close();
    expect(await heldIn(rival)).toEqual(['work']);
    await expect(rival.acquire('work')).rejects.toThrow(LockTimeoutError);
    work.resolve();
    await running;
    expect(await heldIn(rival)).toEqual([]);
  });

  it('frees its locks also when the Knex that it was given is destroyed before', async () => {
    const pool = knex({ client: 'mysql2', connection: connection(flavor) });
    @Injectable()
    class Database implements OnModuleDestroy {
      onModuleDestroy() {
        return pool.destroy();
      }
    }
    const { app, locks } = await start({ ...on('pools'), connection: pool }, [Database]);
    const rival = await startRival(on('pools'));
    await locks.acquire('a');
    await app.close();
    await expect(pool.raw('SELECT 1')).rejects.toThrow();
    expect(await heldIn(rival)).toEqual([]);
  });

  it('may be closed twice, and without having been started', async () => {
    const { app } = await start(on('twice'));
    await Promise.all([app.close(), app.close()]);
    await app.close();
    const module = LockModule.forRoot(on('twice'));
    await (await Test.createTestingModule({ imports: [module] }).compile()).close();
  });
});

const startProcess = async (table: string, ...flags: string[]) => {
  const child = fork(new URL('./shutdown-app.child.ts', import.meta.url), [connection(), table, ...flags], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
};

describe('A process that is told to end', () => {
  it('has freed its locks when it is gone, with shutdown hooks', async () => {
    const rival = await startRival({ table: 'hooks' });
    const child = await startProcess('hooks', 'hooks');
    expect(await heldIn(rival)).toEqual(['k1', 'k2']);
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect(await heldIn(rival)).toEqual([]);
  });

  it('is proved dead by whoever asks next, without shutdown hooks', async () => {
    const rival = await startRival({ table: 'no_hooks' });
    const child = await startProcess('no_hooks');
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect(await heldIn(rival)).toEqual(['k1', 'k2']);
    expect(await rival.tryAcquire('k1')).toMatchObject({ held: true });
  });
});

const warnings = () => {
  const warn = vi.spyOn(Logger.prototype, 'warn').mockReturnValue();
  onTestFinished(() => warn.mockRestore());
  return () => warn.mock.calls.filter(([message]) => String(message).includes('enableShutdownHooks'));
};

describe('Without shutdown hooks', () => {
  it('warns once when the application starts, however many lock services it has', async () => {
    const warned = warnings();
    const imports = ['a', 'b'].map((instance) => LockModule.forRoot({ connection: connection(), instance }));
    const module = await Test.createTestingModule({ imports }).compile();
    onTestFinished(() => module.close());
    expect(warned()).toEqual([]);
    await module.init();
    expect(warned()).toHaveLength(1);
  });

  it('says nothing when they are on', async () => {
    const warned = warnings();
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: connection() })],
    }).compile();
    onTestFinished(() => module.close());
    await module.enableShutdownHooks().init();
    expect(warned()).toEqual([]);
  });
});

describe('The reaper of an application', () => {
  it('frees what a killed process held, from the start to the shutdown, without being asked', async () => {
    const options = { connection: connection(), table: 'reaped', reaper: { every: '100ms' } } as const;
    const killed = await LockProcess.start();
    await killed.open({ ...options, reaper: false });
    await killed.acquire('reaped', { lease: '1h' });
    await killed.kill();
    const { app, locks } = await start(options);
    await until(async () => (await locks.inspect('reaped')) === null);
    await app.close();
  });
});
