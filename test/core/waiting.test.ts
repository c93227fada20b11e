import { hostname } from 'node:os';
import { expect, it, onTestFinished } from 'vitest';
import type { LockRuntime } from '../../lib/nest/compose.js';
import { apart, bench, freshName, logged, movableClock } from '../support/locks.js';
import { describeEachCell } from '../support/matrix.js';
import { Oracle } from '../support/oracle.js';
import { until } from '../support/until.js';
import { looks, takes, wiretap } from '../support/wiretap.js';

/** Only catches a wait for the lease, which is far longer. */
const AT_ONCE_MS = 2_000;
const LONG_LEASE = { lease: '60s' } as const;

describeEachCell('a request for a lock that is held', (cell) => {
  const { pair, service, table, options, sql } = bench(cell);

  /** The statements of `b` are seen. */
  async function watchedPair() {
    const shared = options({ ...LONG_LEASE, table: table() });
    const wire = await wiretap(shared.connection as string);
    return {
      a: service(shared),
      b: service({ ...shared, connection: wire.url }),
      wire,
      table: shared.table!,
    };
  }

  const heldRows = (table: string) =>
    sql(`SELECT lock_key FROM \`${table}\` WHERE expires_at <> 0 AND lock_key <> ''`);

  it.each(['another service', 'its own service'])(
    'of %s waits its time, and names the holder',
    async (of) => {
      const { a, b } = pair(LONG_LEASE);
      const asking = of === 'another service' ? b : a;
      const k = freshName();
      const since = Date.now();
      await a.locks.acquire(k, { label: 'the nightly report' });
      const askedAt = performance.now();
      const error = await apart(() => asking.locks.acquire(k, { wait: 300 })).catch(
        (thrown: unknown) => thrown,
      );
      expect(performance.now() - askedAt).toBeGreaterThanOrEqual(300);
      expect(error).toMatchObject({
        ...{ code: 'LOCK_TIMEOUT', lockName: k },
        holder: { host: hostname(), pid: process.pid, thread: process.pid, label: 'the nightly report' },
      });
      const { waitedMs, holder, message } = error as {
        waitedMs: number;
        holder: { since: Date };
        message: string;
      };
      expect(waitedMs).toBeGreaterThanOrEqual(300);
      expect(Math.abs(holder.since.getTime() - since)).toBeLessThan(60_000);
      expect(message).toContain(`pid ${process.pid} on ${hostname()} (the nightly report)`);
    },
  );

  it('is never given up before its time, whatever the timers do', async () => {
    const { a } = pair(LONG_LEASE);
    const k = freshName();
    await a.locks.acquire(k);
    const waited = await Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        const wait = 20 + n / 7;
        const error = await apart(() => a.locks.acquire(k, { wait })).catch((thrown: unknown) => thrown);
        return (error as { waitedMs: number }).waitedMs - wait;
      }),
    );
    expect(Math.min(...waited)).toBeGreaterThanOrEqual(0);
  });

  it('gets it soon after it was released, not when its lease would have ended', async () => {
    const { a, b, wire } = await watchedPair();
    const k = freshName();
    const lock = await a.locks.acquire(k);
    const waiting = b.locks.acquire(k, { wait: '30s' });
    await until(() => looks(wire.about(k)).length > 3, 'a few looks');
    await lock.release();
    const releasedAt = performance.now();
    expect((await waiting).fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(performance.now() - releasedAt).toBeLessThan(AT_ONCE_MS);
  });

  it.each([0, false, '0ms'] as const)('makes exactly one try when it is not to wait: %s', async (wait) => {
    const { a, b, wire } = await watchedPair();
    const k = freshName();
    const lock = await a.locks.acquire(k);
    await expect(b.locks.acquire(k, { wait })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    expect([takes(wire.about(k)), looks(wire.about(k))].map((sent) => sent.length)).toEqual([1, 1]);
    await lock.release();
    expect((await b.locks.acquire(k, { wait })).held).toBe(true);
  });

  it.each([Infinity, '1000h'] as const)('waits until it is released: %s', async (wait) => {
    const { a, b, wire } = await watchedPair();
    const k = freshName();
    const lock = await a.locks.acquire(k);
    const others = [a, b].map(({ locks }) => apart(() => locks.run(k, { wait }, () => 'granted')));
    await until(() => looks(wire.about(k)).length > 10, 'many looks');
    await lock.release();
    expect(await Promise.all(others)).toEqual(['granted', 'granted']);
  });

  it('does not mind a wall clock that jumps', async () => {
    const shared = options({ ...LONG_LEASE, table: table() });
    const k = freshName();
    await service(shared).locks.acquire(k);
    for (const jump of [3_600_000, -3_600_000]) {
      const clock = movableClock();
      const b = service(shared, { clock });
      await b.open();
      const askedAt = performance.now();
      const waiting = b.locks.acquire(k, { wait: 400 }).catch((error: unknown) => error);
      clock.setWall(jump);
      expect(await waiting).toMatchObject({ code: 'LOCK_TIMEOUT' });
      expect(performance.now() - askedAt).toBeGreaterThanOrEqual(400);
      expect(performance.now() - askedAt).toBeLessThan(400 + 10_000);
    }
  });

  it('asks the database less and less often', async () => {
    const { a, b, wire } = await watchedPair();
    const k = freshName();
    await a.locks.acquire(k);
    await expect(b.locks.acquire(k, { wait: '1s' })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    // Pauses of at least 2.5 ms that grow by half up to at least 50 ms: 8 while growing, then 20 a second.
    expect(wire.about(k).length).toBeLessThan(30);
    expect(takes(wire.about(k))).toHaveLength(1);
  });

  it('says once whom it waits for, when that takes long', async () => {
    const clock = movableClock();
    const shared = options({ ...LONG_LEASE, table: table() });
    const a = service(shared);
    const wire = await wiretap(shared.connection as string);
    const b = service({ ...shared, connection: wire.url }, { clock });
    const k = freshName();
    const lock = await a.locks.acquire(k);
    const waiting = b.locks.acquire(k, { wait: '10m' });
    const warnings = () => logged.filter((line) => line.includes(`Still waiting for lock '${k}'`));
    await until(() => looks(wire.about(k)).length > 3, 'a few looks');
    expect(warnings()).toEqual([]);
    clock.slept(6_000);
    await until(() => warnings().length > 0, 'the warning');
    const seen = looks(wire.about(k)).length;
    await until(() => looks(wire.about(k)).length > seen + 3, 'further looks');
    expect(warnings()).toEqual([expect.stringContaining(`pid ${process.pid} on ${hostname()}`)]);
    await lock.release();
    await waiting;
  });

  it('ends with the reason of its signal, and leaves nothing behind', async () => {
    const { a, b, wire, table } = await watchedPair();
    const k = freshName();
    const lock = await a.locks.acquire(k);
    const inLine = new AbortController();
    const atDatabase = new AbortController();
    const requests = [
      b.locks.acquire(k, { wait: '30s', signal: atDatabase.signal }),
      apart(() => b.locks.acquire(k, { wait: '30s', signal: inLine.signal })),
    ].map((request) => request.catch((reason: unknown) => reason));
    await until(() => looks(wire.about(k)).length > 3, 'a few looks');
    inLine.abort('no Error');
    expect(await requests[1]).toBe('no Error');
    const reason = new Error('the client went away');
    atDatabase.abort(reason);
    expect(await requests[0]).toBe(reason);
    await lock.release();
    const next = await b.locks.tryAcquire(k);
    expect(next!.held).toBe(true);
    await next!.release();
    expect(await heldRows(table)).toEqual([]);
  });

  it('whose signal has already aborted asks for nothing', async () => {
    const { b, wire } = await watchedPair();
    const k = freshName();
    const reason = new Error('too late');
    await expect(b.locks.acquire(k, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(b.locks.run(k, { signal: AbortSignal.abort(reason) }, () => 1)).rejects.toBe(reason);
    expect(takes(wire.about(k))).toEqual([]);
    expect((await b.locks.tryAcquire(k))!.held).toBe(true);
  });

  it('leaves no lock behind when it is called off while it is being granted', async () => {
    const { a, b, table } = pair(LONG_LEASE);
    await a.open();
    const names = Array.from({ length: 40 }, freshName);
    const outcomes = await Promise.all(
      names.map(async (name, n) => {
        const controller = new AbortController();
        const request = a.locks.run(name, { signal: controller.signal }, () => 'granted');
        setTimeout(() => controller.abort('called off'), n / 4);
        return await request.catch((reason: unknown) => reason);
      }),
    );
    expect(new Set([...outcomes, 'granted', 'called off'])).toEqual(new Set(['granted', 'called off']));
    expect(outcomes).toContain('called off');
    await until(async () => (await heldRows(table)).length === 0, 'the undoing of what was called off');
    for (const name of names) expect((await b.locks.tryAcquire(name))!.held).toBe(true);
  });
});

describeEachCell('many requests for one lock', (cell) => {
  const { service, table, options, sql } = bench(cell);

  it('of one process are granted first come, first served, and only the first of them asks the database', async () => {
    const shared = options({ ...LONG_LEASE, table: table() });
    const wire = await wiretap(shared.connection as string);
    const a = service(shared);
    const b = service({ ...shared, connection: wire.url });
    const k = freshName();
    const lock = await a.locks.acquire(k);
    const served: number[] = [];
    const all = Array.from({ length: 30 }, (_, n) =>
      b.locks.run(k, { wait: '60s' }, () => void served.push(n)),
    );
    await until(() => looks(wire.about(k)).length > 5, 'a few looks');
    expect(takes(wire.about(k))).toHaveLength(1);
    await lock.release();
    await Promise.all(all);
    expect(served).toEqual(Array.from({ length: 30 }, (_, n) => n));
    // The first asked once in vain and once when it was free; everybody else got it at the first try.
    expect(takes(wire.about(k)).length).toBeLessThanOrEqual(31);
  });

  it('are all granted: fifty of ten services', async () => {
    const oracle = new Oracle();
    onTestFinished(() => oracle.remove());
    const shared = options({ ...LONG_LEASE, table: table() });
    const services: LockRuntime[] = Array.from({ length: 10 }, () => service({ ...shared }));
    const k = freshName();
    await Promise.all(
      services.flatMap(({ locks }) =>
        Array.from({ length: 5 }, () => locks.run(k, { wait: '60s' }, (lock) => oracle.section(lock))),
      ),
    );
    expect(oracle.faults()).toEqual([]);
    expect(oracle.count(k)).toBe(50);
    expect(await sql(`SELECT lock_key FROM \`${shared.table}\` WHERE expires_at <> 0`)).toEqual([]);
  });
});
