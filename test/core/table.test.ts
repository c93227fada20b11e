import { hostname } from 'node:os';
import { expect, it } from 'vitest';
import { bench, freshName, onHost } from '../support/locks.js';
import { LockProcess } from '../support/lock-process.js';
import { describeEachCell } from '../support/matrix.js';

const LONG_LEASE = { lease: '60s' } as const;

describeEachCell('the locks in the table', (cell) => {
  const { pair, service, options, table, sql } = bench(cell);

  /** Locks of two scopes, two hosts, and two processes. */
  async function scene() {
    const shared = options({ ...LONG_LEASE, table: table() });
    const here = service(shared);
    const elsewhere = service(shared, onHost('elsewhere'));
    const other = await LockProcess.start();
    await other.open(shared);
    await here.locks.acquire('report:1', { label: 'mine' });
    await here.locks.acquire('report:2', { scope: 'local' });
    await elsewhere.locks.acquire('report:3');
    await elsewhere.locks.acquire('mail:1', { scope: 'local' });
    await other.acquire('mail:2');
    return { here, elsewhere, other, table: shared.table! };
  }

  it('are listed by name, with all that is known about them', async () => {
    const { here, other } = await scene();
    const list = await here.table.list();
    const own = { pid: process.pid, host: hostname(), alive: 'alive', mine: true };
    const foreign = { pid: process.pid, host: 'elsewhere', alive: 'unknown', mine: false };
    expect(list).toMatchObject([
      { name: 'mail:1', scope: 'local', expiresAt: null, ...foreign },
      { name: 'mail:2', scope: 'global', pid: other.pid, host: hostname(), alive: 'alive', mine: false },
      { name: 'report:1', scope: 'global', label: 'mine', ...own },
      { name: 'report:2', scope: 'local', label: '', expiresAt: null, ...own },
      { name: 'report:3', scope: 'global', ...foreign, alive: 'unknown' },
    ]);
    for (const { acquiredAt, expiresAt, token, startedAt } of list) {
      expect(Math.abs(acquiredAt.getTime() - Date.now())).toBeLessThan(60_000);
      if (expiresAt) expect(expiresAt.getTime() - acquiredAt.getTime()).toBe(60_000);
      expect(token).toMatch(/^[0-9a-f]{32}$/);
      expect(startedAt).not.toBe('');
    }
  });

  it('are found by their beginning, their scope, their host, their process, and all of these', async () => {
    const { here, other } = await scene();
    const found = async (filter: Parameters<typeof here.table.list>[0]) =>
      (await here.table.list(filter)).map(({ name }) => name);
    expect(await found({ prefix: 'mail:' })).toEqual(['mail:1', 'mail:2']);
    expect(await found({ prefix: 'MAIL:' })).toEqual([]);
    expect(await found({ scope: 'local' })).toEqual(['mail:1', 'report:2']);
    expect(await found({ scope: 'global' })).toEqual(['mail:2', 'report:1', 'report:3']);
    expect(await found({ host: 'elsewhere' })).toEqual(['mail:1', 'report:3']);
    expect(await found({ pid: other.pid })).toEqual(['mail:2']);
    expect(await found({ prefix: 'report:', scope: 'global', host: hostname(), pid: process.pid })).toEqual([
      'report:1',
    ]);
  });

  it('show that their owner is dead', async () => {
    const { here, elsewhere, other } = await scene();
    await other.kill();
    expect(await here.table.inspect('mail:2')).toMatchObject({ pid: other.pid, alive: 'dead' });
    expect(await elsewhere.table.inspect('mail:2')).toMatchObject({ pid: other.pid, alive: 'unknown' });
  });

  it('are inspected in their own scope, a local one on its own host', async () => {
    const { here, elsewhere } = await scene();
    expect(await here.table.inspect('report:1', { scope: 'local' })).toBeNull();
    expect(await here.table.inspect('report:2')).toBeNull();
    expect(await here.table.inspect('report:2', { scope: 'local' })).toMatchObject({ name: 'report:2' });
    expect(await elsewhere.table.inspect('report:2', { scope: 'local' })).toBeNull();
  });

  it('that are free, or were never taken, are not there', async () => {
    const { a, b } = pair(LONG_LEASE);
    const k = freshName();
    expect(await b.table.inspect(k)).toBeNull();
    const lock = await a.locks.acquire(k);
    expect(await b.table.list()).toHaveLength(1);
    await lock.release();
    expect(await b.table.inspect(k)).toBeNull();
    expect(await b.table.list()).toEqual([]);
  });

  it('whose lease has ended count as free', async () => {
    const { a, b, table } = pair(LONG_LEASE);
    const [ended, live] = [freshName(), freshName()];
    await a.locks.acquire(ended);
    await a.locks.acquire(live);
    await sql(`UPDATE \`${table}\` SET expires_at = renewed_at - 1 WHERE lock_key = ?`, [`g:${ended}`]);
    expect(await b.table.inspect(ended)).toBeNull();
    expect((await b.table.list()).map(({ name }) => name)).toEqual([live]);
  });

  it('can be freed by an operator, each by its own token and in its own scope only', async () => {
    const { a, b } = pair(LONG_LEASE);
    const k = freshName();
    const global = await a.locks.acquire(k);
    const local = await a.locks.acquire(k, { scope: 'local' });
    expect(await b.table.forceRelease(k, { token: local.token })).toBe(false);
    expect(await b.table.forceRelease(k, { scope: 'local', token: global.token })).toBe(false);
    expect(await b.table.forceRelease(k, { scope: 'local', token: local.token.toUpperCase() })).toBe(true);
    expect(await b.table.forceRelease(k, { scope: 'local', token: local.token })).toBe(false);
    expect(await b.table.inspect(k, { scope: 'local' })).toBeNull();
    expect(await b.table.inspect(k)).toMatchObject({ token: global.token });
  });
});
