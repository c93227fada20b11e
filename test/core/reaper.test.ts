import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { COLUMNS, NOW } from '../../lib/store/schema.js';
import { bench, freshName, logged, onHost } from '../support/locks.js';
import { LockProcess } from '../support/lock-process.js';
import { describeEachCell } from '../support/matrix.js';
import { until } from '../support/until.js';
import { scans, wiretap } from '../support/wiretap.js';

const LONG_LEASE = { lease: '60s' } as const;
const DAY = 86_400_000_000;
const MINUTE = 60_000_000;
const FAR_FUTURE = 4_000_000_000_000_000;

describeEachCell('the reaper', (cell) => {
  const { pair, service, options, table, sql } = bench(cell);

  /** Turns the row of one lock into twice as many, again and again. */
  async function multiply(table: string, prefix: string, times: number): Promise<void> {
    const others = Object.keys(COLUMNS).slice(1).join(', ');
    for (let time = 0; time < times; time++) {
      await sql(
        `INSERT INTO \`${table}\` SELECT CONCAT(lock_key, ?), ${others} FROM \`${table}\` WHERE lock_key LIKE ?`,
        [`.${time}`, `g:${prefix}%`],
      );
    }
  }

  /** A lock whose owner was killed, and what the table says of it. */
  async function deadOwner(table: string, name: string) {
    const owner = await LockProcess.start();
    await owner.open(options({ ...LONG_LEASE, table }));
    const fencing = await owner.acquire(name);
    await owner.kill();
    return { pid: owner.pid, fencing };
  }

  it('frees the expired and the dead of this host, and nobody else, and says which and why', async () => {
    const { a, b, table } = pair(LONG_LEASE);
    const elsewhere = service({ ...LONG_LEASE, table }, onHost('elsewhere'));
    const living = await LockProcess.start();
    await living.open(options({ ...LONG_LEASE, table }));
    await a.locks.acquire('live');
    await a.locks.acquire('live, local', { scope: 'local' });
    await living.acquire('live, other process');
    await elsewhere.locks.acquire('foreign');
    await elsewhere.locks.acquire('foreign, local', { scope: 'local' });
    const expired = await elsewhere.locks.acquire('expired');
    await sql(`UPDATE \`${table}\` SET expires_at = renewed_at - 1 WHERE lock_key = 'g:expired'`);
    const { pid } = await deadOwner(table, 'dead');
    const { freed, pruned } = await b.reaper.sweep();
    expect([...freed].sort((one, other) => (one.name < other.name ? -1 : 1))).toMatchObject([
      { name: 'dead', scope: 'global', pid, thread: pid, reason: 'dead' },
      { name: 'expired', token: expired.token, host: 'elsewhere', reason: 'expired' },
    ]);
    expect(freed).toHaveLength(2);
    expect(pruned).toBe(0);
    const left = (await b.table.list()).map(({ name }) => name);
    expect(left).toEqual(['foreign', 'foreign, local', 'live', 'live, local', 'live, other process']);
    expect(await b.reaper.sweep()).toEqual({ freed: [], pruned: 0 });
  });

  it('leaves the dead of another host to their lease', async () => {
    const shared = { ...LONG_LEASE, table: table() };
    const elsewhere = service(shared, onHost('elsewhere'));
    await deadOwner(shared.table, 'dead');
    expect((await elsewhere.reaper.sweep()).freed).toEqual([]);
    expect((await service(shared).reaper.sweep()).freed).toHaveLength(1);
  });

  it('reports a row once, however many reapers sweep at once', async () => {
    const shared = { ...LONG_LEASE, table: table() };
    await deadOwner(shared.table, 'dead');
    await multiply(shared.table, 'dead', 6);
    const reapers = Array.from({ length: 3 }, () => service(shared).reaper);
    const reports = await Promise.all(reapers.map((it) => it.sweep()));
    const names = reports.flatMap(({ freed }) => freed.map(({ name }) => name));
    expect(names).toHaveLength(64);
    expect(new Set(names).size).toBe(64);
  });

  it('frees 2,048 rows of a dead owner, while others get their locks', async () => {
    const { a, b, table } = pair(LONG_LEASE);
    await deadOwner(table, 'dead');
    await multiply(table, 'dead', 11);
    await b.open();
    let isSweeping = true;
    const sweeping = a.reaper.sweep().finally(() => (isSweeping = false));
    const meanwhile: boolean[] = [];
    for (let n = 0; n < 3; n++) {
      await b.locks.run(freshName(), () => void meanwhile.push(isSweeping));
    }
    const { freed } = await sweeping;
    expect(freed).toHaveLength(2_048);
    expect(new Set(freed.map(({ reason }) => reason))).toEqual(new Set(['dead']));
    expect(meanwhile).toEqual([true, true, true]);
    expect(await b.table.list()).toEqual([]);
  });

  it('undoes a row of its own service that none of its locks and requests knows', async () => {
    const { a, b, table } = pair(LONG_LEASE);
    const lock = await a.locks.acquire('known');
    await multiply(table, 'known', 1);
    await sql(`UPDATE \`${table}\` SET token = ? WHERE lock_key = 'g:known.0'`, [randomBytes(16)]);
    expect(await b.locks.tryAcquire('known.0')).toBeNull();
    await b.reaper.sweep();
    expect(await b.table.inspect('known.0')).not.toBeNull();
    await a.reaper.sweep();
    await until(async () => (await b.table.inspect('known.0')) === null, 'the undoing');
    lock.assertHeld();
    expect((await b.table.inspect('known'))?.token).toBe(lock.token);
  });

  it('deletes a row only once it has been free for more than a day', async () => {
    const { a, b, table } = pair(LONG_LEASE);
    const ages = {
      'a day and a minute': DAY + MINUTE,
      'a day less a minute': DAY - MINUTE,
      held: DAY + MINUTE,
    };
    for (const [name, age] of Object.entries(ages)) {
      const lock = await a.locks.acquire(name);
      if (name !== 'held') await lock.release();
      await sql(`UPDATE \`${table}\` SET renewed_at = ${NOW} - ? WHERE lock_key = ?`, [age, `g:${name}`]);
    }
    await sql(`UPDATE \`${table}\` SET renewed_at = 0 WHERE lock_key = ''`);
    expect((await b.reaper.sweep()).pruned).toBe(1);
    const rows = await sql(`SELECT CAST(lock_key AS CHAR) AS lock_key FROM \`${table}\` ORDER BY 1`);
    expect(rows.map(({ lock_key }) => lock_key as string)).toEqual(['', 'g:a day less a minute', 'g:held']);
  });

  it('keeps the fencing numbers growing when it deletes a row with one from far in the future', async () => {
    const { a, b, table } = pair(LONG_LEASE);
    const k = freshName();
    await (await a.locks.acquire(k)).release();
    await sql(`UPDATE \`${table}\` SET fencing = ?, renewed_at = 0 WHERE lock_key = ?`, [
      FAR_FUTURE,
      `g:${k}`,
    ]);
    expect((await b.reaper.sweep()).pruned).toBe(1);
    expect(await sql(`SELECT 1 FROM \`${table}\` WHERE lock_key = ?`, [`g:${k}`])).toEqual([]);
    const next = await a.locks.acquire(k);
    expect(next.fencingToken).toBeGreaterThan(FAR_FUTURE);
    const another = await b.locks.acquire(freshName());
    expect(another.fencingToken).toBeGreaterThan(FAR_FUTURE);
  });

  it('sweeps by itself once started, says what it freed, and not any more once stopped', async () => {
    const shared = options({ ...LONG_LEASE, table: table(), reaper: { every: 100 } });
    const wire = await wiretap(shared.connection as string);
    const a = service({ ...shared, connection: wire.url });
    const b = service(shared);
    await a.open();
    expect(scans(wire.statements)).toEqual([]);
    const k = freshName();
    const { pid } = await deadOwner(shared.table!, k);
    a.reaper.start();
    a.reaper.start();
    await until(async () => (await b.table.inspect(k)) === null, 'the sweep');
    await until(() => logged.includes(`Freed the global lock '${k}' of pid ${pid}: dead.`), 'the log line');
    await a.reaper.stop();
    const swept = scans(wire.statements).length;
    // Another one that goes on shows that there was time for further sweeps.
    b.reaper.start();
    for (let round = 0; round < 3; round++) {
      const next = freshName();
      await sql(`UPDATE \`${shared.table}\` SET lock_key = ?, expires_at = 1 WHERE lock_key LIKE 'g:%'`, [
        `g:${next}`,
      ]);
      await until(() => logged.some((line) => line.includes(`lock '${next}'`)), 'the other one’s sweep');
    }
    await b.reaper.stop();
    expect(scans(wire.statements)).toHaveLength(swept);
  });
});
