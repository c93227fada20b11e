import { describe, expect, it, onTestFinished } from 'vitest';
import { startServer, type PrivateServer } from '../../private-server/index.js';
import { composeLocks, type LockRuntime } from '../../lib/nest/compose.js';
import type { LockModuleOptions } from '../../lib/nest/lock-module.options.js';
import { freshName, onHost } from '../support/locks.js';
import { LockProcess } from '../support/lock-process.js';
import { Oracle } from '../support/oracle.js';
import { serversUnderTest } from '../support/servers.js';
import { until } from '../support/until.js';

const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };
const ENGINES = ['memory', 'innodb'] as const;

async function start(flavor: 'mysql' | 'mariadb'): Promise<{ server: PrivateServer; url: string }> {
  const server = await startServer({ flavor });
  onTestFinished(() => server.stop());
  return { server, url: await server.createDatabase() };
}

function service(options: LockModuleOptions, around = {}): LockRuntime {
  const runtime = composeLocks({ reaper: false, ...options }, quiet, around);
  onTestFinished(() => runtime.close());
  return runtime;
}

/** Asks until there is an answer: while the database is away there are only errors. */
async function tryUntilAnswered({ locks }: LockRuntime, name: string) {
  let lock: Awaited<ReturnType<typeof locks.tryAcquire>> = null;
  await until(async () => {
    lock = await locks.tryAcquire(name).catch(() => undefined as never);
    return lock !== undefined;
  }, 'an answer of the database');
  return lock as Awaited<ReturnType<typeof locks.tryAcquire>>;
}

describe.each(serversUnderTest().map(({ flavor }) => flavor))(
  'a %s server killed with -9 and restarted',
  (flavor) => {
    it('leaves a MEMORY lock with its holder, and gives a dead holder’s lock to the next one after the recovery', async () => {
      const { server, url } = await start(flavor);
      // Long enough for the server to be back before the holder's own deadline.
      const options = { connection: url, engine: 'memory', lease: '12s', wait: '60s' } as const;
      const a = service(options);
      const elsewhere = service(options, onHost('elsewhere'));
      const [kept, orphaned] = [freshName(), freshName()];
      const lock = await a.locks.acquire(kept);
      const owner = await LockProcess.start();
      await owner.open(options);
      const before = await owner.acquire(orphaned);
      await elsewhere.open();

      await server.kill();
      await owner.kill();
      await server.restart();

      expect(await tryUntilAnswered(elsewhere, kept)).toBeNull();
      expect(await tryUntilAnswered(elsewhere, orphaned)).toBeNull();
      await until(
        async () => (await a.table.inspect(kept).catch(() => null))?.token === lock.token,
        'the holder to reclaim',
      );
      expect((await a.table.inspect(kept))!.fencingToken).toBe(lock.fencingToken);
      const next = await elsewhere.locks.acquire(orphaned);
      expect(next.fencingToken).toBeGreaterThan(before);
      lock.assertHeld();
      expect(lock.signal.aborted).toBe(false);
      expect(await elsewhere.locks.tryAcquire(kept)).toBeNull();
      expect(await lock.release()).toBe(true);
      expect((await elsewhere.locks.tryAcquire(kept))!.fencingToken).toBeGreaterThan(lock.fencingToken);
    });

    it.each(ENGINES)('under load never lets two in (%s)', async (engine) => {
      const { server, url } = await start(flavor);
      const oracle = new Oracle();
      onTestFinished(() => oracle.remove());
      const options = { connection: url, engine, lease: '1s' } as const;
      const processes = await Promise.all(Array.from({ length: 3 }, () => LockProcess.start()));
      const names = [freshName(), freshName()];
      const contention = {
        folder: oracle.folder,
        names,
        rounds: 400,
        options: { wait: '60s' },
        patient: true,
      } as const;
      await Promise.all(processes.map((it) => it.open(options)));
      const contending = Promise.all(processes.map((it) => it.contend(contention)));
      for (let restarts = 0; restarts < 2; restarts++) {
        const seen = oracle.entered();
        await until(() => oracle.entered() > seen + 50, 'sections to go on');
        await server.kill();
        await server.restart();
      }
      await contending;
      expect(oracle.faults()).toEqual([]);
      for (const name of names) expect(oracle.count(name)).toBe(oracle.entered(name));
    });
  },
);
