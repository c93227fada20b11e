import { expect, it } from 'vitest';
import { bench, freshName, onHost } from '../support/locks.js';
import { LockProcess } from '../support/lock-process.js';
import { describeEachCell } from '../support/matrix.js';

/** Only catches a hang, or a wait for the lease: those here are far longer. */
const AT_ONCE_MS = 500;
const LONG_LEASE = { lease: '60s' } as const;

describeEachCell('the owner of a lock', (cell) => {
  const { service, options, table } = bench(cell);

  async function holder(scope: 'global' | 'local') {
    const shared = options({ ...LONG_LEASE, table: table() });
    const k = freshName();
    const owner = await LockProcess.start();
    await owner.open(shared);
    const fencing = await owner.acquire(k, { scope });
    return { owner, k, fencing, b: service(shared), shared };
  }

  it.each(['global', 'local'] as const)(
    'killed with -9 loses it to the next one who asks (%s)',
    async (scope) => {
      const { owner, k, fencing, b } = await holder(scope);
      expect(await b.locks.tryAcquire(k, { scope })).toBeNull();
      await owner.kill();
      const killedAt = performance.now();
      const lock = await b.locks.tryAcquire(k, { scope });
      expect(performance.now() - killedAt).toBeLessThan(AT_ONCE_MS);
      expect(lock!.fencingToken).toBeGreaterThan(fencing);
    },
  );

  it.each(['global', 'local'] as const)(
    'killed with -9 loses it to one who waits already (%s)',
    async (scope) => {
      const { owner, k, b } = await holder(scope);
      const waiting = b.locks.acquire(k, { scope, wait: '30s' }).then(() => performance.now());
      await owner.kill();
      const killedAt = performance.now();
      expect((await waiting) - killedAt).toBeLessThan(AT_ONCE_MS);
    },
  );

  it('keeps a local lock while it lives, stopped for longer than the lease', async () => {
    const shared = options({ lease: '100ms', table: table() });
    const k = freshName();
    const owner = await LockProcess.start();
    await owner.open(shared);
    await owner.acquire(k, { scope: 'local' });
    owner.signal('SIGSTOP');
    const b = service(shared);
    await expect(b.locks.acquire(k, { scope: 'local', wait: '1s' })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      holder: { pid: owner.pid },
    });
    owner.signal('SIGCONT');
    expect(await owner.release(k)).toBe(true);
    expect(await b.locks.tryAcquire(k, { scope: 'local' })).not.toBeNull();
  });

  it('on another host keeps it until its lease ends, and no longer', async () => {
    const shared = options({ lease: '1s', table: table() });
    const k = freshName();
    const owner = await LockProcess.start();
    await owner.open(shared);
    await owner.acquire(k);
    const elsewhere = service(shared, onHost('elsewhere'));
    expect(await elsewhere.locks.tryAcquire(k)).toBeNull();
    await owner.kill();
    expect(await elsewhere.locks.tryAcquire(k)).toBeNull();
    expect(await elsewhere.locks.acquire(k, { wait: '30s' })).toMatchObject({ held: true });
  });

  it('stopped for longer than the lease loses a global lock, and knows when it goes on', async () => {
    const shared = options({ lease: '400ms', table: table() });
    const k = freshName();
    const owner = await LockProcess.start();
    await owner.open(shared);
    const stale = await owner.acquire(k);
    owner.signal('SIGSTOP');
    const b = service(shared);
    const lock = await b.locks.acquire(k, { wait: '30s' });
    expect(lock.fencingToken).toBeGreaterThan(stale);
    owner.signal('SIGCONT');
    expect(await owner.state(k)).toEqual({ held: false, lost: 'expired' });
    expect(await owner.release(k)).toBe(false);
    lock.assertHeld();
  });

  it('is followed by exactly one of twenty who find it dead', async () => {
    const { owner, k, shared } = await holder('global');
    const others = Array.from({ length: 20 }, () => service({ ...shared }));
    await Promise.all(others.map((it) => it.open()));
    await owner.kill();
    const locks = await Promise.all(others.map((it) => it.locks.tryAcquire(k)));
    expect(locks.filter(Boolean)).toHaveLength(1);
  });
});
