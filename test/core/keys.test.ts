import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { LockConfigError, LockNameError, LockStorageError } from 'nestjs-interlock';
import { composeLocks } from '../../lib/nest/compose.js';
import type { LockModuleOptions } from '../../lib/nest/lock-module.options.js';
import { bench, freshName } from '../support/locks.js';
import { describeEachCell } from '../support/matrix.js';

const NFC = 'caf\u00e9';
const NFD = 'cafe\u0301';
const LONG = 'x'.repeat(999);

/** Pairs of names that a collation, a trim or a cut could take for one. */
const DISTINCT: readonly (readonly [what: string, one: string, other: string])[] = [
  ['another case', 'Job', 'job'],
  ['a space at the end', 'job', 'job '],
  ['a space at the beginning', 'job', ' job'],
  ['a tab at the end', 'job', 'job\t'],
  ['a zero byte at the end', 'job', 'job\0'],
  ['an accent', 'jôb', 'job'],
  ['another normalization', NFC, NFD],
  ['a sharp s', 'straße', 'strasse'],
  ['another emoji', 'a😀', 'a😁'],
  ['no emoji', 'a😀', 'a?'],
  ['a replacement character', 'a\ufffd', 'a?'],
  ['a wildcard', 'a%', 'a_'],
  ['quotes and backslashes', `a'"\`\\`, `a'"\`\\\\`],
  ['the last of 1,000 characters', `${LONG}a`, `${LONG}b`],
  ['the last bytes beyond the column', `${'y'.repeat(191)}1`, `${'y'.repeat(191)}2`],
  ['the last byte that fits and one more', 'z'.repeat(189), 'z'.repeat(190)],
];

describeEachCell('a lock’s name', (cell) => {
  const { pair, sql } = bench(cell);

  it.each(DISTINCT)('is exact to the byte: %s is another lock', async (_, one, other) => {
    const { a, b } = pair();
    for (const scope of ['global', 'local'] as const) {
      const first = await a.locks.tryAcquire(one, { scope });
      const second = await b.locks.tryAcquire(other, { scope });
      expect([first?.name, second?.name]).toEqual([one, other]);
      expect(await b.locks.tryAcquire(one, { scope })).toBeNull();
      expect(await a.table.inspect(other, { scope })).toMatchObject({ name: other, token: second!.token });
      expect(await a.table.inspect(one, { scope })).toMatchObject({ name: one, token: first!.token });
      expect([await first!.release(), await second!.release()]).toEqual([true, true]);
    }
  });

  it('is listed verbatim', async () => {
    const { a, b } = pair();
    const names = ['a😀', 'a😁', 'job ', `'"\`\\%`, NFC, NFD, 'line\nbreak'].sort();
    for (const name of names) await a.locks.acquire(name);
    expect((await b.table.list()).map(({ name }) => name)).toEqual(names);
  });

  it('of great length keeps its readable beginning in the list', async () => {
    const { a, b } = pair();
    const name = `report:2026:${'ä'.repeat(400)}`;
    await a.locks.acquire(name);
    const listed = (await b.table.list())[0]!.name;
    expect(listed).toMatch(/^report:2026:ä+~[0-9a-f]{64}$/);
    expect(Buffer.byteLength(listed)).toBeLessThanOrEqual(189);
    expect(await b.table.list({ prefix: 'report:2026:ä' })).toHaveLength(1);
    expect(await b.table.inspect(name)).toMatchObject({ name });
  });

  it('may be as long as 1,024 bytes, and may look like the stored form of another one', async () => {
    const { a, b } = pair();
    const longest = '💡'.repeat(256);
    await a.locks.acquire(longest);
    const stored = (await a.table.list())[0]!.name;
    expect(stored).not.toBe(longest);
    const lookalike = await b.locks.tryAcquire(stored);
    expect(lookalike!.held).toBe(true);
    expect(await b.locks.tryAcquire(longest)).toBeNull();
  });

  it('can look like the inside of the table: no lock is the sentinel', async () => {
    const { a, b, table } = pair();
    for (const name of ['g:', 'l:', 'g:a', ':', '~', `l:${'A'.repeat(22)}:a`, 'NULL', '0']) {
      expect((await a.locks.tryAcquire(name))!.held).toBe(true);
      expect(await b.locks.tryAcquire(name)).toBeNull();
    }
    expect(await sql(`SELECT expires_at FROM \`${table}\` WHERE lock_key = ''`)).toEqual([{ expires_at: 0 }]);
  });

  it('keeps the lease of its holder, whatever those who wait ask for', async () => {
    const { a, b, table } = pair({ lease: '60s' });
    const k = freshName();
    await a.locks.acquire(k);
    const row = () => sql(`SELECT * FROM \`${table}\` WHERE lock_key = ?`, [`g:${k}`]);
    const before = await row();
    await expect(b.locks.acquire(k, { wait: 200, lease: 100 })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
    });
    expect(await row()).toEqual(before);
  });

  it('is found in a database and a table of unusual names', async () => {
    const database = `it's "odd" \`né\` ${randomBytes(4).toString('hex')}`;
    await sql('CREATE DATABASE ??', [database]);
    try {
      const url = new URL(cell.url);
      url.pathname = `/${encodeURIComponent(database)}`;
      const { a, b, table } = pair({
        connection: url.href,
        table: `$locks_${randomBytes(4).toString('hex')}`,
      });
      const k = freshName();
      await a.locks.acquire(k);
      expect(await b.locks.tryAcquire(k)).toBeNull();
      expect(await sql('SELECT lock_key FROM ??.?? WHERE expires_at > 0', [database, table])).toHaveLength(1);
    } finally {
      await sql('DROP DATABASE ??', [database]);
    }
  });
});

describe('before any SQL is sent', () => {
  /** Nobody listens there: whatever gets as far as the database is a LockStorageError. */
  const nowhere = { connection: 'mysql://root@127.0.0.1:1/none', reaper: false } as const;
  const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };
  const { locks, table } = composeLocks(nowhere, quiet);

  const verbs: readonly (readonly [string, (name: never, options: never) => Promise<unknown>])[] = [
    ['acquire', (name, options) => locks.acquire(name, options)],
    ['tryAcquire', (name, options) => locks.tryAcquire(name, options)],
    ['run', (name, options) => locks.run(name, options, () => 1)],
  ];

  it.each(verbs)('%s would get as far as the database with good arguments', async (_, verb) => {
    await expect(verb('job' as never, {} as never)).rejects.toThrow(LockStorageError);
  });

  const BAD_NAMES = [
    '',
    undefined,
    null,
    7,
    {},
    ['a'],
    Buffer.from('a'),
    'a'.repeat(1025),
    'ä'.repeat(513),
    '\ud83d',
  ];

  it.each(verbs)('%s refuses a name that is none', async (_, verb) => {
    for (const name of BAD_NAMES)
      await expect(verb(name as never, {} as never)).rejects.toThrow(LockNameError);
  });

  it('inspect and forceRelease refuse it, too', async () => {
    for (const name of BAD_NAMES as never[]) {
      await expect(table.inspect(name)).rejects.toThrow(LockNameError);
      await expect(table.forceRelease(name, { token: 'f'.repeat(32) })).rejects.toThrow(LockNameError);
    }
    await expect(table.inspect('a', { scope: 'host' as never })).rejects.toThrow(LockConfigError);
    await expect(table.forceRelease('a', { token: 7 as never })).rejects.toThrow(LockConfigError);
  });

  const BAD_OPTIONS = [
    ...[0, -1, Number.NaN, Infinity, 2 ** 53, 0.4, 'soon', '-5s', '', null].map((lease) => ({ lease })),
    ...[-1, Number.NaN, -Infinity, 'soon', true, null].map((wait) => ({ wait })),
    ...[{ scope: 'host' }, { label: 'x'.repeat(101) }, { signal: {} }, { reentrant: 1 }, null, 7],
  ];

  it.each(verbs)('%s refuses options that are none', async (_, verb) => {
    for (const options of BAD_OPTIONS)
      await expect(verb('job' as never, options as never)).rejects.toThrow(LockConfigError);
  });

  it.each(["lo'cks", 'lo`cks', 'lo"cks', 'db.locks', 'lo cks', '', 'lööcks', 'x'.repeat(65), 7, null])(
    'a table name that would need quoting is refused: %s',
    (table) => {
      const options = { ...nowhere, table } as LockModuleOptions;
      expect(() => composeLocks(options, quiet)).toThrow(LockConfigError);
    },
  );
});
