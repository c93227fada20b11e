import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LockLostError } from 'nestjs-interlock';
import { startServer } from '../../private-server/index.js';
import { composeLocks } from '../../lib/nest/compose.js';
import { statementsFor } from '../../lib/store/statements.js';
import { bench, freshName, movableClock, onHost } from '../support/locks.js';
import { LockProcess } from '../support/lock-process.js';
import { describeEachCell } from '../support/matrix.js';
import { serversUnderTest } from '../support/servers.js';
import { until } from '../support/until.js';
import { looks, renewals, wiretap } from '../support/wiretap.js';

describeEachCell('a lease', (cell) => {
  const { pair, service, table, sql, options } = bench(cell);

  const rowOf = async (table: string, name: string) =>
    (await sql(`SELECT * FROM \`${table}\` WHERE lock_key = ?`, [`g:${name}`]))[0]!;
  const beatOf = async (table: string, name: string) => Number((await rowOf(table, name)).beat);

  it('is renewed by itself for as long as the lock is held, and ends with the release', async () => {
    const { a, table } = pair({ lease: '1s' });
    const elsewhere = service({ table, lease: '1s' }, onHost('elsewhere'));
    const k = freshName();
    const lock = await a.locks.acquire(k);
    const firstEnd = Number((await rowOf(table, k)).expires_at);
    await until(async () => {
      expect(await elsewhere.locks.tryAcquire(k)).toBeNull();
      return (await beatOf(table, k)) >= 5;
    }, 'five renewals');
    expect(Number((await rowOf(table, k)).expires_at)).toBeGreaterThan(firstEnd + 1_000_000);
    lock.assertHeld();
    expect((await rowOf(table, k)).fencing).toBe(lock.fencingToken);
    expect(await lock.release()).toBe(true);
    expect(await elsewhere.locks.tryAcquire(k)).not.toBeNull();
  });

  it('sends nothing after the release, and does not abort the signal', async () => {
    const shared = options({ table: table(), lease: '600ms' });
    const wire = await wiretap(shared.connection as string);
    const a = service({ ...shared, connection: wire.url });
    const b = service({ ...shared, lease: '1s' });
    const [k, beside] = [freshName(), freshName()];
    const lock = await a.locks.acquire(k);
    // A renewal reads back what it did: once that is seen, nothing of it is on its way any more.
    await until(() => renewals(wire.about(k)).length > 0 && looks(wire.about(k)).length > 0, 'a renewal');
    expect(await lock.release()).toBe(true);
    const sent = wire.about(k).length;
    await b.locks.acquire(beside);
    await until(async () => (await beatOf(shared.table!, beside)) >= 3, 'the renewals of another one');
    expect(wire.about(k).slice(sent)).toEqual([]);
    expect(lock.signal.aborted).toBe(false);
  });

  it('is not kept for a request that was refused or called off', async () => {
    const shared = options({ table: table(), lease: '600ms' });
    const wire = await wiretap(shared.connection as string);
    const a = service({ ...shared, lease: '1s' });
    const b = service({ ...shared, connection: wire.url });
    const k = freshName();
    await a.locks.acquire(k);
    expect(await b.locks.tryAcquire(k)).toBeNull();
    await expect(b.locks.acquire(k, { wait: '5s', signal: AbortSignal.timeout(50) })).rejects.toThrow();
    const sent = wire.about(k).length;
    const beat = await beatOf(shared.table!, k);
    await until(async () => (await beatOf(shared.table!, k)) >= beat + 3, 'the holder’s renewals');
    expect(renewals(wire.about(k))).toEqual([]);
    // The request that was called off is undone once more; nothing asks for the lock again.
    expect(
      wire
        .about(k)
        .slice(sent)
        .filter((text) => /^(INSERT|SELECT)/.test(text)),
    ).toEqual([]);
  });

  it.each([
    ['freed', 'expires_at = 0'],
    ['taken', `token = '${randomBytes(8).toString('hex')}', beat = 0, fencing = fencing + 1`],
  ] as const)('is lost at the next renewal when the row says %s, which stays so', async (reason, change) => {
    const { a, table } = pair({ lease: '600ms' });
    const k = freshName();
    const lock = await a.locks.acquire(k);
    await sql(`UPDATE \`${table}\` SET ${change} WHERE lock_key = ?`, [`g:${k}`]);
    const theirs = await rowOf(table, k);
    await until(() => lock.signal.aborted, 'the loss');
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason, lockName: k });
    expect(lock.held).toBe(false);
    expect(await lock.release()).toBe(false);
    expect(await rowOf(table, k)).toEqual(theirs);
  });

  it('is lost at the next renewal when the row is gone, which does not come back', async () => {
    const { a, table } = pair({ lease: '600ms' });
    const k = freshName();
    const running = a.locks.run(k, async ({ signal }) => {
      await sql(`DELETE FROM \`${table}\` WHERE lock_key = ?`, [`g:${k}`]);
      await until(() => signal.aborted, 'the loss');
      return 'the result of work that was not exclusive';
    });
    const error = await running.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ reason: 'missing', lockName: k });
    expect(await rowOf(table, k)).toBeUndefined();
  });

  it('is lost when another service frees it by force, and not revived', async () => {
    const { a, b, table } = pair({ lease: '600ms' });
    const k = freshName();
    const lock = await a.locks.acquire(k);
    expect(await b.table.forceRelease(k, { token: lock.token })).toBe(true);
    await until(() => lock.signal.aborted, 'the loss');
    expect(lock.signal.reason).toMatchObject({ reason: 'freed' });
    expect(() => lock.assertHeld()).toThrow(LockLostError);
    expect((await rowOf(table, k)).expires_at).toBe(0);
    expect(await b.locks.tryAcquire(k)).not.toBeNull();
  });

  it('is lost once the holder’s own deadline has passed, although nobody took it, and stays lost', async () => {
    const clock = movableClock();
    const shared = options({ table: table(), lease: '600ms' });
    const a = service(shared, { clock });
    const k = freshName();
    const lock = await a.locks.acquire(k);
    const before = await rowOf(shared.table!, k);
    clock.slept(600);
    await until(() => lock.signal.aborted, 'the loss');
    expect(lock.signal.reason).toMatchObject({ reason: 'expired' });
    clock.slept(-600);
    expect(lock.held).toBe(false);
    expect(await rowOf(shared.table!, k)).toEqual(before);
    expect(await lock.release()).toBe(false);
  });

  it('of a local lock that passed is no loss: the lock is held again once it is confirmed', async () => {
    const clock = movableClock();
    const a = service({ table: table(), lease: '3s' }, { clock });
    const lock = await a.locks.acquire(freshName(), { scope: 'local' });
    clock.slept(5_000);
    expect(lock.held).toBe(false);
    expect(() => lock.assertHeld()).toThrow(expect.objectContaining({ reason: 'unconfirmed' }) as Error);
    await until(() => lock.held, 'the confirmation');
    lock.assertHeld();
    expect(lock.signal.aborted).toBe(false);
    expect(await lock.release()).toBe(true);
  });

  it('is neither shortened nor revived by a renewal that arrives late', async () => {
    const { a, table } = pair({ lease: '1h' });
    const k = freshName();
    const { token } = await a.locks.acquire(k);
    const { renew } = statementsFor(table, true);
    const send = (beat: number) =>
      sql(renew, [beat, 0, 0, [Buffer.from(`g:${k}`)], [Buffer.from(token, 'hex')], beat]);
    const granted = await rowOf(table, k);
    await send(7);
    const renewed = await rowOf(table, k);
    expect(renewed).toMatchObject({ beat: 7 });
    expect(renewed.expires_at).toBeGreaterThan(granted.expires_at as number);
    for (const late of [1, 6, 7]) await send(late);
    expect(await rowOf(table, k)).toEqual(renewed);
    await sql(`UPDATE \`${table}\` SET expires_at = 0 WHERE lock_key = ?`, [`g:${k}`]);
    await send(8);
    expect(await rowOf(table, k)).toMatchObject({ expires_at: 0, beat: 7 });
  });

  it('is renewed in one statement with the others: 200 locks cost a few statements a tick', async () => {
    const shared = options({ table: table(), lease: '2s' });
    const wire = await wiretap(shared.connection as string);
    const a = service({ ...shared, connection: wire.url });
    await Promise.all(Array.from({ length: 200 }, (_, n) => a.locks.acquire(`${freshName()}-${n}`)));
    const renewed = async (which: 'MIN' | 'MAX') => {
      const text = `SELECT ${which}(renewed_at) AS at FROM \`${shared.table}\` WHERE beat > 0`;
      const [row] = await sql(`${text} HAVING COUNT(*) = 200`);
      return Number(row?.at ?? 0);
    };
    await until(async () => (await renewed('MIN')) > 0, 'every lock to be renewed');
    const [from, last] = [renewals(wire.statements).length, await renewed('MAX')];
    await until(async () => (await renewed('MIN')) > last, 'every lock to be renewed again');
    // Locks that were granted more than a twelfth of the lease apart are renewed apart: four a third of it, two thirds.
    expect(renewals(wire.statements).length - from).toBeLessThanOrEqual(8);
  });

  it('of an owner who died elsewhere ends to the millisecond, never before', async () => {
    const shared = options({ table: table(), lease: '1s' });
    const k = freshName();
    const owner = await LockProcess.start();
    await owner.open(shared);
    const elsewhere = service(shared, onHost('elsewhere'));
    await elsewhere.open();
    await owner.acquire(k);
    const waiting = elsewhere.locks.acquire(k, { wait: '30s' });
    await owner.kill();
    const { expires_at: end } = await rowOf(shared.table!, k);
    await waiting;
    const { acquired_at: next } = await rowOf(shared.table!, k);
    expect(Number(next) - Number(end)).toBeGreaterThanOrEqual(0);
  });
});

describe.each(serversUnderTest())('a $flavor server that is out of reach for a whole lease', ({ flavor }) => {
  const LEASE_MS = 2_000;

  it.each(['SIGSTOP', 'SIGKILL'] as const)(
    'costs the lock: the holder is told before the lease can end, once (%s)',
    async (signal) => {
      const server = await startServer({ flavor });
      onTestFinished(() => server.stop());
      const a = composeLocks(
        { connection: await server.createDatabase(), lease: LEASE_MS, reaper: false },
        { log: () => undefined, warn: () => undefined, error: () => undefined },
      );
      onTestFinished(() => a.close());
      await a.open();
      const events: string[] = [];
      const k = freshName();
      const running = a.locks.run(k, async (lock) => {
        lock.signal.addEventListener('abort', () => events.push('told'));
        // Two timers of one process fire in their order, however busy the machine is.
        const { expiresAt } = (await a.table.inspect(k))!;
        setTimeout(() => events.push('ended'), expiresAt!.getTime() - Date.now());
        process.kill(server.pid, signal);
        lock.assertHeld();
        await until(
          () => events.includes('told') && events.includes('ended'),
          'the loss and the end of the lease',
        );
        expect(lock.held).toBe(false);
        if (signal === 'SIGSTOP') process.kill(server.pid, 'SIGCONT');
        else await server.restart();
      });
      await expect(running).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
      expect(events).toEqual(['told', 'ended']);
    },
  );
});
