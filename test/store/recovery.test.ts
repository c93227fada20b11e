import { expect, it } from 'vitest';
import { LockTimeoutError, type LockStorageError } from 'nestjs-interlock';
import { bench, freshName, logged, onHost } from '../support/locks.js';
import { LockProcess } from '../support/lock-process.js';
import { describeEachCell } from '../support/matrix.js';
import { until } from '../support/until.js';

const LEASE_MS = 1_000;
/** The longest lease, and the longest delay of a statement: in microseconds. */
const RECOVERY = (LEASE_MS + 5_000) * 1_000;

describeEachCell('a lock table that lost rows', (cell) => {
  const { pair, service, options, table, sql } = bench(cell);

  const sentinelOf = async (table: string) =>
    (await sql(`SELECT * FROM \`${table}\` WHERE lock_key = ''`))[0];

  /** A living holder, a dead one on another host than the one who asks, and what becomes of them. */
  async function lose(what: string) {
    const shared = options({ table: table(), lease: LEASE_MS });
    const holder = service(shared);
    const asker = service(shared, onHost('asker'));
    const [kept, orphaned, free] = [freshName(), freshName(), freshName()];
    const lock = await holder.locks.acquire(kept, { label: 'kept' });
    const dead = await LockProcess.start();
    await dead.open(shared);
    const before = await dead.acquire(orphaned);
    await asker.open();
    await dead.kill();
    await sql(what.replace('TABLE_NAME', `\`${shared.table}\``));

    // A table that is gone is an error to the first who asks, never a grant.
    const answer = async () =>
      await asker.locks.tryAcquire(free).catch(({ trouble }: LockStorageError) => trouble);
    await until(async () => {
      const answered = await answer();
      expect([null, 'no-table']).toContain(answered);
      return answered === null;
    }, 'a table to ask');
    const closed = (await sentinelOf(shared.table!))!;
    expect(closed.lease).toBe(RECOVERY);
    expect(Number(closed.expires_at) - Number(closed.acquired_at)).toBe(RECOVERY);
    const refusal = await asker.locks.acquire(kept, { wait: 50 }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LockTimeoutError);
    expect((refusal as Error).message).toContain('the lock table recovers');
    await until(async () => {
      const info = await asker.table.inspect(kept);
      return info?.token === lock.token && info.fencingToken === lock.fencingToken;
    }, 'the holder to reclaim');
    expect(await asker.table.inspect(kept)).toMatchObject({ label: 'kept', pid: process.pid });

    const next = await asker.locks.acquire(free, { wait: '60s' });
    const opened = (await sentinelOf(shared.table!))!;
    expect(opened).toMatchObject({ token: closed.token, expires_at: 0 });
    const { acquired_at: grantedAt } = (
      await sql(`SELECT acquired_at FROM \`${shared.table}\` WHERE lock_key = ?`, [`g:${free}`])
    )[0]!;
    expect(Number(grantedAt)).toBeGreaterThanOrEqual(Number(closed.expires_at));
    expect(next.fencingToken).toBeGreaterThan(Math.max(lock.fencingToken, before));
    expect((await asker.locks.tryAcquire(orphaned))!.fencingToken).toBeGreaterThan(before);
    lock.assertHeld();
    expect(lock.signal.aborted).toBe(false);
    expect(await asker.locks.tryAcquire(kept)).toBeNull();
    expect(await lock.release()).toBe(true);
    const after = await asker.locks.tryAcquire(kept);
    expect(after!.fencingToken).toBeGreaterThan(lock.fencingToken);
  }

  it('grants nothing until its living holders have written their rows back, then goes on', async () => {
    const ways = [
      ...['TRUNCATE TABLE TABLE_NAME', `DELETE FROM TABLE_NAME WHERE lock_key = ''`, 'DROP TABLE TABLE_NAME'],
    ];
    const outcomes = await Promise.allSettled(ways.map(lose));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    expect(logged.filter((line) => line.includes('its sentinel row is missing')).length).toBeGreaterThan(0);
    expect(logged.filter((line) => line.includes('has recovered')).length).toBeGreaterThan(0);
  });

  it('is closed once by two services that find it broken at once, and by neither again', async () => {
    const { a, b, table } = pair();
    await Promise.all([a.open(), b.open()]);
    const { fencing: floor } = (await sentinelOf(table))!;
    await sql(`TRUNCATE TABLE \`${table}\``);
    const both = () => Promise.all([a, b].map(({ locks }) => locks.tryAcquire(freshName())));
    expect(await both()).toEqual([null, null]);
    const closed = (await sentinelOf(table))!;
    expect(Number(closed.fencing)).toBeGreaterThan(Number(floor));
    expect(await both()).toEqual([null, null]);
    await Promise.all([a.reaper.sweep(), b.reaper.sweep()]);
    expect(await sentinelOf(table)).toEqual(closed);
  });

  it.each([
    ['belongs to another server', 'server_id = 4000000000'],
    ['is older than one that was seen', 'fencing = fencing - 1000000'],
  ])('is found by a sentinel that %s', async (_, change) => {
    const { a, b, table } = pair();
    await (await a.locks.acquire(freshName())).release();
    expect(await a.locks.tryAcquire(freshName())).not.toBeNull();
    // A look shows the floor; a grant alone does not.
    await a.reaper.sweep();
    const before = (await sentinelOf(table))!;
    await sql(`UPDATE \`${table}\` SET ${change} WHERE lock_key = ''`);
    expect(await a.locks.tryAcquire(freshName())).toBeNull();
    const closed = (await sentinelOf(table))!;
    expect(closed.token).not.toEqual(before.token);
    expect(closed.server_id).toBe(before.server_id);
    expect(Number(closed.fencing)).toBeGreaterThan(Number(before.fencing));
    expect(Number(closed.expires_at)).toBeGreaterThan(0);
    expect(await b.locks.tryAcquire(freshName())).toBeNull();
  });

  it('does not give a lock back to a holder whose row was taken over meanwhile', async () => {
    const { a, table } = pair({ lease: '600ms' });
    const k = freshName();
    const lock = await a.locks.acquire(k);
    await sql(
      `UPDATE \`${table}\` SET token = 'somebody newer..', fencing = fencing + 1 WHERE lock_key = ?`,
      [`g:${k}`],
    );
    await sql(`DELETE FROM \`${table}\` WHERE lock_key = ''`);
    await until(() => lock.signal.aborted, 'the loss');
    expect(lock.signal.reason).toMatchObject({ reason: 'taken' });
    const [row] = await sql(`SELECT token FROM \`${table}\` WHERE lock_key = ?`, [`g:${k}`]);
    expect(String(row!.token)).toBe('somebody newer..');
  });
});
