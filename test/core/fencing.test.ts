import { expect, it } from 'vitest';
import { bench, freshName, onHost } from '../support/locks.js';
import { LockProcess } from '../support/lock-process.js';
import { describeEachCell } from '../support/matrix.js';
import { until } from '../support/until.js';

const NEAR_THE_LIMIT = 9_007_199_254_740_000;

describeEachCell('the fencing token of a lock', (cell) => {
  const { pair, service, options, table, sql } = bench(cell);

  it('grows from each holder to the next, whichever way it was followed, and never during a hold', async () => {
    const shared = options({ table: table(), lease: '1s' });
    const [a, b] = [service(shared), service(shared)];
    const elsewhere = service(shared, onHost('elsewhere'));
    const k = freshName();
    const row = async () =>
      (await sql(`SELECT * FROM \`${shared.table}\` WHERE lock_key = ?`, [`g:${k}`]))[0]!;
    const tokens: number[] = [];

    for (const { locks } of [a, b]) {
      const lock = await locks.acquire(k);
      tokens.push(lock.fencingToken);
      await until(async () => Number((await row()).beat) >= 1, 'a renewal');
      expect((await row()).fencing).toBe(lock.fencingToken);
      await lock.release();
      expect((await row()).fencing).toBe(lock.fencingToken);
    }

    const expiring = await LockProcess.start();
    await expiring.open(shared);
    tokens.push(await expiring.acquire(k));
    await expiring.kill();
    const afterExpiry = await elsewhere.locks.acquire(k, { wait: '30s' });
    tokens.push(afterExpiry.fencingToken);
    await afterExpiry.release();

    const dying = await LockProcess.start();
    await dying.open(shared);
    tokens.push(await dying.acquire(k));
    await dying.kill();
    const afterDeath = await a.locks.acquire(k);
    tokens.push(afterDeath.fencingToken);

    expect(await b.table.forceRelease(k, { token: afterDeath.token })).toBe(true);
    const afterForce = await b.locks.acquire(k);
    tokens.push(afterForce.fencingToken);
    expect(await afterDeath.release()).toBe(false);
    await afterForce.release();

    await sql(`UPDATE \`${shared.table}\` SET renewed_at = 0 WHERE lock_key = ?`, [`g:${k}`]);
    expect((await a.reaper.sweep()).pruned).toBe(1);
    tokens.push((await a.locks.acquire(k)).fencingToken);

    expect(tokens).toHaveLength(8);
    expect(tokens).toEqual([...new Set(tokens)].sort((one, other) => one - other));
    for (const token of tokens) expect(Number.isSafeInteger(token)).toBe(true);
  });

  it('is exact up to the largest numbers a program can count', async () => {
    const { a, b, table } = pair();
    const k = freshName();
    await (await a.locks.acquire(k)).release();
    await sql(`UPDATE \`${table}\` SET fencing = ? WHERE lock_key = ?`, [NEAR_THE_LIMIT, `g:${k}`]);
    for (let round = 1; round <= 3; round++) {
      const lock = await b.locks.acquire(k);
      expect(lock.fencingToken).toBe(NEAR_THE_LIMIT + round);
      expect((await a.table.inspect(k))?.fencingToken).toBe(NEAR_THE_LIMIT + round);
      await lock.release();
    }
  });

  it('lets the guarded resource tell a stale holder from the present one', async () => {
    const { a, b, table } = pair();
    const k = freshName();
    await sql(
      `CREATE TABLE guarded_${table} (id INT PRIMARY KEY, last_token BIGINT NOT NULL, value VARCHAR(9))`,
    );
    await sql(`INSERT INTO guarded_${table} VALUES (1, 0, '')`);
    const write = async ({ fencingToken }: { fencingToken: number }, value: string) => {
      const guard = `UPDATE guarded_${table} SET last_token = ?, value = ? WHERE id = 1 AND last_token <= ?`;
      await sql(guard, [fencingToken, value, fencingToken]);
    };
    const stale = await a.locks.acquire(k);
    await write(stale, 'first');
    await b.table.forceRelease(k, { token: stale.token });
    const present = await b.locks.acquire(k);
    await write(present, 'present');
    await write(stale, 'stale');
    const [row] = await sql(`SELECT last_token, value FROM guarded_${table}`);
    expect(row).toEqual({ last_token: present.fencingToken, value: 'present' });
  });
});
