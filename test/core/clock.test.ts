import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { composeLocks, type LockRuntime, type Surroundings } from '../../lib/nest/compose.js';
import type { LockModuleOptions } from '../../lib/nest/lock-module.options.js';
import { freshName, onHost } from '../support/locks.js';
import { LockProcess } from '../support/lock-process.js';
import { serversUnderTest } from '../support/servers.js';
import { startSteppedServer, type SteppedServer } from '../support/stepped-server.js';
import { until } from '../support/until.js';

const HOUR_S = 3_600;
const LEASE_MS = 2_000;
const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };

function service(options: LockModuleOptions, around: Partial<Surroundings>): LockRuntime {
  const runtime = composeLocks(options, quiet, around);
  onTestFinished(() => runtime.close());
  return runtime;
}

describe.each(serversUnderTest().map(({ flavor }) => flavor))(
  'when the clock of a %s server steps',
  (flavor) => {
    let server: SteppedServer;
    beforeAll(async () => {
      server = await startSteppedServer(flavor);
    });
    afterAll(() => server.stop());

    async function scene() {
      const { url, setAhead } = server;
      setAhead(0);
      const table = `locks_${randomBytes(6).toString('hex')}`;
      const options = { connection: url, table, engine: 'memory', lease: LEASE_MS, reaper: false } as const;
      const owner = await LockProcess.start();
      await owner.open(options);
      const others = {
        waited: service(options, onHost('waited')),
        fresh: service(options, onHost('fresh')),
      };
      return { setAhead, options, owner, ...others, k: freshName() };
    }

    it('forward beyond the lease, a holder that cannot even renew stays the only one', async () => {
      const { setAhead, owner, waited, fresh, k } = await scene();
      await owner.acquire(k);
      expect(await waited.locks.tryAcquire(k)).toBeNull();
      // Stopped, so that its row still shows the end of the lease that was true before the step.
      owner.signal('SIGSTOP');
      setAhead(HOUR_S);
      const intruders = await Promise.all([waited, fresh].map(({ locks }) => locks.tryAcquire(k)));
      owner.signal('SIGCONT');
      const { held } = await owner.state(k);
      expect(intruders).toEqual([null, null]);
      expect(held).toBe(true);
    });

    it('forward, a living holder goes on renewing, and others stay out', async () => {
      const { setAhead, owner, waited, k } = await scene();
      await owner.acquire(k);
      await waited.locks.tryAcquire(k);
      setAhead(HOUR_S);
      await expect(waited.locks.acquire(k, { wait: 2 * LEASE_MS })).rejects.toMatchObject({
        code: 'LOCK_TIMEOUT',
      });
      expect(await owner.state(k)).toEqual({ held: true, lost: null });
    });

    it.each([-HOUR_S, HOUR_S])(
      'by %d s, a dead stranger’s lock is taken after it was watched for a lease',
      async (step) => {
        const { setAhead, owner, fresh, k } = await scene();
        const before = await owner.acquire(k);
        await owner.kill();
        setAhead(step);
        const other = await fresh.locks.acquire(freshName());
        expect(await other.release()).toBe(true);
        const lock = await fresh.locks.acquire(k, { wait: '30s' });
        expect(lock.fencingToken).toBeGreaterThan(before);
      },
    );

    it('away and back while a lock is acquired, nobody overlaps', async () => {
      const { setAhead, owner, waited, fresh, k } = await scene();
      await waited.locks.tryAcquire(freshName());
      setAhead(HOUR_S);
      await owner.acquire(k);
      setAhead(0);
      for (const { locks } of [waited, fresh]) {
        await expect(locks.acquire(k, { wait: 1.5 * LEASE_MS })).rejects.toMatchObject({
          code: 'LOCK_TIMEOUT',
        });
      }
      expect(await owner.state(k)).toEqual({ held: true, lost: null });
      await owner.kill();
      expect((await waited.locks.acquire(k, { wait: '30s' })).held).toBe(true);
    });

    it('fencing numbers grow on', async () => {
      const { setAhead, fresh, k } = await scene();
      const numbers: number[] = [];
      for (const ahead of [HOUR_S, 0, -HOUR_S, HOUR_S, 0]) {
        setAhead(ahead);
        numbers.push(await fresh.locks.run(k, ({ fencingToken }) => fencingToken));
      }
      expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
    });

    it('or a service’s own wall clock is wrong by an hour, a dead stranger’s lock is taken all the same', async () => {
      const { options, owner, k } = await scene();
      const clock = { monotonic: () => performance.now(), wall: () => Date.now() + HOUR_S * 1_000 };
      const wrong = service(options, { ...onHost('wrong'), clock });
      await owner.acquire(k);
      await expect(wrong.locks.acquire(k, { wait: 1.5 * LEASE_MS })).rejects.toMatchObject({
        code: 'LOCK_TIMEOUT',
      });
      await owner.kill();
      await until(async () => (await wrong.locks.tryAcquire(k)) !== null, 'the lease to have been watched');
    });
  },
);
