import { expect, it } from 'vitest';
import { LockLostError, LockReentrancyError } from 'nestjs-interlock';
import { bench, freshName } from '../support/locks.js';
import { LockProcess } from '../support/lock-process.js';
import { describeEachCell } from '../support/matrix.js';
import { signalled } from '../support/until.js';

describeEachCell('a lock', (cell) => {
  const { pair, service, table, sql, options } = bench(cell);

  it.each(['global', 'local'] as const)('is granted to one and refused to another (%s)', async (scope) => {
    const { a, b, table } = pair();
    const k = freshName();
    const lock = await a.locks.acquire(k, { scope, label: 'archive' });
    const before = await sql(`SELECT * FROM \`${table}\``);
    expect(await b.locks.tryAcquire(k, { scope })).toBeNull();
    expect(await sql(`SELECT * FROM \`${table}\``)).toEqual(before);
    for (const service of [a, b]) {
      expect(await service.table.inspect(k, { scope })).toMatchObject({
        ...{ name: k, scope, token: lock.token, fencingToken: lock.fencingToken, label: 'archive' },
        ...{ pid: process.pid, thread: process.pid, alive: 'alive', mine: service === a },
      });
    }
  });

  it('is refused to the same service from an unrelated path, and its first handle stays valid', async () => {
    const { a } = pair();
    const k = freshName();
    const started = signalled();
    const finish = signalled();
    const running = a.locks.run(k, async (lock) => {
      started.resolve();
      await finish.promise;
      lock.assertHeld();
    });
    await started.promise;
    expect(await a.locks.tryAcquire(k)).toBeNull();
    finish.resolve();
    await running;
  });

  it('throws at once when the path that holds it asks for it again', async () => {
    const { a } = pair();
    const k = freshName();
    const lock = await a.locks.acquire(k);
    await expect(a.locks.acquire(k)).rejects.toThrow(LockReentrancyError);
    await expect(a.locks.tryAcquire(k)).rejects.toThrow(LockReentrancyError);
    await expect(a.locks.run(k, () => 1)).rejects.toThrow(LockReentrancyError);
    lock.assertHeld();
    await lock.release();
    await expect(a.locks.run(k, () => a.locks.run(k, () => 1))).rejects.toThrow(LockReentrancyError);
  });

  it('nests where that is asked for, and is free after the outermost release', async () => {
    const { a, b } = pair();
    const k = freshName();
    await a.locks.run(k, async (outer) => {
      const inner = await a.locks.acquire(k, { reentrant: true });
      expect(inner.fencingToken).toBe(outer.fencingToken);
      expect(await a.locks.run(k, { reentrant: true }, (lock) => lock.held)).toBe(true);
      expect(await inner.release()).toBe(true);
      expect(inner.held).toBe(false);
      expect(await b.locks.tryAcquire(k)).toBeNull();
    });
    expect(await b.locks.tryAcquire(k)).not.toBeNull();
  });

  it('never nests workers that one loop starts, although acquire() cannot tell them apart', async () => {
    const { a } = pair();
    const k = freshName();
    let inside = 0;
    let most = 0;
    const worker = async () => {
      await using lock = await a.locks.acquire(k, { reentrant: true });
      most = Math.max(most, (inside += 1));
      await a.table.inspect(lock.name);
      inside -= 1;
    };
    const workers: Promise<unknown>[] = [];
    for (let n = 0; n < 4; n++) {
      workers.push(worker().catch((error: unknown) => expect(error).toBeInstanceOf(LockReentrancyError)));
      await a.table.inspect(k);
    }
    await Promise.all(workers);
    expect(most).toBe(1);
  });

  it('that was deleted, freed or taken while run() had it is told with its reason', async () => {
    const { a, b, table } = pair();
    const k = freshName();
    const deleted = () => sql(`DELETE FROM \`${table}\` WHERE lock_key <> ''`);
    await expect(a.locks.run(k, deleted)).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'missing' });
    const freed = a.locks.run(k, ({ token }) => b.table.forceRelease(k, { token }));
    await expect(freed).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'freed' });
    const taken = a.locks.run(k, async ({ token }) => {
      await b.table.forceRelease(k, { token });
      await b.locks.acquire(k);
    });
    await expect(taken).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'taken' });
  });

  it('does not stand in the way of another name', async () => {
    const { a } = pair();
    const one = await a.locks.acquire(freshName());
    const other = await a.locks.acquire(freshName());
    expect(await one.release()).toBe(true);
    expect(await other.release()).toBe(true);
  });

  it('goes back and forth at the first try', async () => {
    const { a, b } = pair();
    const k = freshName();
    for (let round = 0; round < 10; round++) {
      for (const { locks } of [a, b]) await (await locks.tryAcquire(k))!.release();
    }
  });

  it('is released once: a second release answers false and touches nobody', async () => {
    const { a, b } = pair();
    const k = freshName();
    const lock = await a.locks.acquire(k);
    expect(await lock.release()).toBe(true);
    expect(await lock.release()).toBe(false);
    expect(() => lock.assertHeld()).toThrow(LockLostError);
    const theirs = await b.locks.acquire(k);
    expect(await lock.release()).toBe(false);
    theirs.assertHeld();
    expect((await b.table.inspect(k))?.token).toBe(theirs.token);
    expect(lock.signal.aborted).toBe(false);
  });

  it('answers false when its row was deleted under it', async () => {
    const { a, table } = pair();
    const k = freshName();
    const lock = await a.locks.acquire(k);
    await sql(`DELETE FROM \`${table}\` WHERE lock_key <> ''`);
    expect(await lock.release()).toBe(false);
  });

  it('is not freed by a forged or an old token', async () => {
    const { a, b } = pair();
    const k = freshName();
    const old = await a.locks.acquire(k);
    await old.release();
    const lock = await a.locks.acquire(k);
    for (const token of [old.token, 'f'.repeat(32), 'nonsense']) {
      expect(await b.table.forceRelease(k, { token })).toBe(false);
    }
    expect((await b.table.inspect(k))?.token).toBe(lock.token);
    expect(await b.table.forceRelease(k, { token: lock.token })).toBe(true);
    expect(await b.locks.tryAcquire(k)).not.toBeNull();
    expect(await lock.release()).toBe(false);
  });

  it('is released once when an `await using` scope is left, by return and by throw', async () => {
    const { a, b } = pair();
    const k = freshName();
    const inScope = async (fail: boolean) => {
      await using lock = await a.locks.acquire(k);
      if (fail) throw new Error(lock.name);
    };
    await inScope(false);
    await (await b.locks.tryAcquire(k))!.release();
    await expect(inScope(true)).rejects.toThrow(k);
    expect(await b.locks.tryAcquire(k)).not.toBeNull();
  });

  it.each([undefined, false, 0, null, ''])(
    'run() resolves to exactly what its function gives: %s',
    async (value) => {
      const { a } = pair();
      expect(await a.locks.run(freshName(), () => value)).toBe(value);
    },
  );

  it('run() throws exactly what its function throws, and the lock is free', async () => {
    const { a, b } = pair();
    const k = freshName();
    for (const thrown of [new Error('async'), 'no Error', undefined]) {
      const sync = () => {
        throw thrown;
      };
      await expect(a.locks.run(k, sync)).rejects.toBe(thrown);
      await expect(a.locks.run(k, async () => await Promise.reject(thrown))).rejects.toBe(thrown);
    }
    expect(await b.locks.tryAcquire(k)).not.toBeNull();
  });

  it('keeps local and global locks of one name apart', async () => {
    const { a, b } = pair();
    const k = freshName();
    await a.locks.acquire(k);
    expect(await b.locks.tryAcquire(k, { scope: 'local' })).not.toBeNull();
  });

  it('is another one in another table', async () => {
    const k = freshName();
    const a = service({ table: table() });
    const b = service({ table: table() });
    await a.locks.acquire(k);
    expect(await b.locks.tryAcquire(k)).not.toBeNull();
  });

  it('has one winner when eight processes make the table and ask at once', async () => {
    const k = freshName();
    const processes = await Promise.all(Array.from({ length: 8 }, () => LockProcess.start()));
    const shared = options({ table: table() });
    const grants = await Promise.all(
      processes.map(async (it) => {
        await it.open(shared);
        return await it.tryAcquire(k);
      }),
    );
    expect(grants.filter((fencing) => fencing !== null)).toHaveLength(1);
  });
});
