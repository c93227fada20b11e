import { expect, it } from 'vitest';
import { createLockTableSql, LockConfigError } from 'nestjs-interlock';
import { bench, freshName, logged } from '../support/locks.js';
import { describeEachCell } from '../support/matrix.js';

describeEachCell('the lock table', (cell) => {
  const { service, pair, table, sql } = bench(cell);
  const other = cell.engine === 'memory' ? 'InnoDB' : 'MEMORY';

  async function definition(name: string) {
    const [row] = await sql(
      `SELECT ENGINE AS engine, TABLE_COMMENT AS comment FROM information_schema.TABLES
        WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?`,
      [name],
    );
    return row as { engine: string; comment: string } | undefined;
  }

  async function makeByHand(name: string, engine: string = cell.engine, longestLease = 30_000) {
    for (const statement of createLockTableSql({ table: name, engine, longestLease })) await sql(statement);
  }

  it('is made with the engine that was asked for, and one tree for its keys', async () => {
    const { a, table } = pair();
    await a.open();
    expect((await definition(table))!.engine.toLowerCase()).toBe(cell.engine);
    const [{ 'Create Table': text }] = (await sql(`SHOW CREATE TABLE \`${table}\``)) as [
      Record<string, string>,
    ];
    expect(text).toMatch(/PRIMARY KEY \(`lock_key`\)( USING BTREE)?/);
    const keys = await sql(`SHOW INDEX FROM \`${table}\``);
    expect(keys).toHaveLength(1);
    expect(keys[0]).toMatchObject({ Key_name: 'PRIMARY', Index_type: 'BTREE' });
    expect(logged).toContainEqual(
      expect.stringMatching(new RegExp(`'${table}', engine ${cell.engine}`, 'i')),
    );
  });

  it('that people made by hand is used as it is', async () => {
    const name = table();
    await makeByHand(name);
    const [a, b] = [0, 1].map(() => service({ table: name, createTable: false }));
    const before = await sql(`SHOW CREATE TABLE \`${name}\``);
    const k = freshName();
    await a!.locks.acquire(k);
    expect(await b!.locks.tryAcquire(k)).toBeNull();
    expect(await sql(`SHOW CREATE TABLE \`${name}\``)).toEqual(before);
  });

  it('is not made where that is not wanted', async () => {
    const name = table();
    const a = service({ table: name, createTable: false });
    await expect(a.open()).rejects.toThrow(LockConfigError);
    await expect(a.locks.tryAcquire(freshName())).rejects.toThrow(/createLockTableSql/);
    expect(await definition(name)).toBeUndefined();
    await makeByHand(name);
    expect((await a.locks.tryAcquire(freshName()))!.held).toBe(true);
  });

  it('with another engine is kept, and said to be', async () => {
    const name = table();
    await makeByHand(name, other);
    const a = service({ table: name });
    expect((await a.locks.tryAcquire(freshName()))!.held).toBe(true);
    expect((await definition(name))!.engine).toBe(other);
    expect(logged).toContain(
      `Engine ${cell.engine} was asked for; table '${name}' is kept with its engine ${other}.`,
    );
  });

  it('is no table of somebody else’s: that is left alone', async () => {
    const name = table();
    await sql(`CREATE TABLE \`${name}\` (id INT PRIMARY KEY) COMMENT 'ours'`);
    await sql(`INSERT INTO \`${name}\` VALUES (1)`);
    const a = service({ table: name });
    await expect(a.locks.acquire(freshName())).rejects.toThrow(LockConfigError);
    await expect(a.open()).rejects.toThrow(`Table '${name}' exists and is not a lock table`);
    expect(await sql(`SELECT * FROM \`${name}\``)).toEqual([{ id: 1 }]);
  });

  it('of another version is refused, and left alone', async () => {
    const name = table();
    await makeByHand(name);
    await sql(`ALTER TABLE \`${name}\` COMMENT 'nestjs-interlock v2, longest lease 30000 ms'`);
    await expect(service({ table: name }).open()).rejects.toThrow(
      `Table '${name}' is a lock table of version 2; this release reads version 1.`,
    );
    expect((await definition(name))!.comment).toBe('nestjs-interlock v2, longest lease 30000 ms');
  });

  it.each([
    ['DROP COLUMN witnessed', 'expected column witnessed tinyint and found none'],
    ['MODIFY label VARBINARY(50) NOT NULL', 'expected column label varbinary(100) and found varbinary(50)'],
    [
      'MODIFY lock_key VARCHAR(191) NOT NULL',
      'expected column lock_key varbinary(191) and found varchar(191)',
    ],
  ])('after %s is refused with what was expected', async (change, message) => {
    const name = table();
    await makeByHand(name);
    await sql(`ALTER TABLE \`${name}\` ${change}`);
    const opening = service({ table: name }).open();
    await expect(opening).rejects.toThrow(LockConfigError);
    await expect(opening).rejects.toThrow(message);
  });

  it('may have further columns', async () => {
    const name = table();
    await makeByHand(name);
    await sql(`ALTER TABLE \`${name}\` ADD COLUMN note VARCHAR(20) DEFAULT 'a note'`);
    const a = service({ table: name });
    const lock = await a.locks.acquire(freshName());
    expect(await lock.release()).toBe(true);
  });

  it('records the longest lease that was used on it, of two services at once, too', async () => {
    const { a, b, table } = pair({ lease: '1s' });
    await Promise.all([a.open(), b.open()]);
    const longest = async () => (await definition(table))!.comment;
    expect(await longest()).toBe('nestjs-interlock v1, longest lease 1000 ms');
    const short = await a.locks.acquire(freshName(), { lease: 500 });
    expect(await longest()).toBe('nestjs-interlock v1, longest lease 1000 ms');
    const locks = await Promise.all(
      [a, b, a, b].map((it, n) => it.locks.acquire(freshName(), { lease: 70_000 - n * 1_000 })),
    );
    expect(await longest()).toBe('nestjs-interlock v1, longest lease 70000 ms');
    for (const lock of [short, ...locks]) expect(await lock.release()).toBe(true);
    const third = service({ table, lease: '90s' });
    await third.open();
    expect(await longest()).toBe('nestjs-interlock v1, longest lease 90000 ms');
    await service({ table, lease: '1s' }).open();
    expect(await longest()).toBe('nestjs-interlock v1, longest lease 90000 ms');
  });

  it('that was dropped under a service is made anew, and closed for a recovery', async () => {
    const { a, table } = pair({ lease: 100 });
    const before = await a.locks.run(freshName(), ({ fencingToken }) => fencingToken);
    await sql(`DROP TABLE \`${table}\``);
    await expect(a.locks.tryAcquire(freshName())).rejects.toMatchObject({ trouble: 'no-table' });
    expect(await a.locks.tryAcquire(freshName())).toBeNull();
    const [sentinel] = await sql(`SELECT * FROM \`${table}\` WHERE lock_key = ''`);
    expect(sentinel).toMatchObject({ lease: 5_100_000 });
    expect(Number(sentinel!.expires_at)).toBeGreaterThan(0);
    expect(Number(sentinel!.fencing)).toBeGreaterThan(before);
  });
});
