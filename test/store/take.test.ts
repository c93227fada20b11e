import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { LockStorageError } from 'nestjs-interlock';
import { NEVER, type TakeRequest } from '../../lib/store/lock-store.js';
import { SENTINEL } from '../../lib/store/rows.js';
import { freshName } from '../support/locks.js';
import { cells } from '../support/matrix.js';
import { LEASE, SECOND, statementBench, takeRequest } from '../support/statement-bench.js';

const HOUR = 3_600 * SECOND;
const THEIRS = { token: Buffer.alloc(16, 7), beat: 5 };

/** What stands in the table when somebody asks. */
interface Situation {
  /** The lock's row; null where there is none. Times count from now. */
  readonly row: { expiresIn: number | 'never' | 'free'; witnessed?: boolean; lease?: number } | null;
  readonly sentinel?: 'missing' | 'closed' | 'of another server' | 'older than the floor';
  readonly request?: Partial<TakeRequest>;
  /** How the asking process's clocks judge the database's. */
  readonly clock?: { off?: number; slack?: number };
  readonly granted: boolean;
}

const witnessed = true;
const held = { expiresIn: HOUR, witnessed };
const ended = { expiresIn: -SECOND, witnessed };
const unwitnessed = { expiresIn: -SECOND, witnessed: false };
const free = { expiresIn: 'free' } as const;

const SITUATIONS: Record<string, Situation> = {
  'no row': { row: null, granted: true },
  'a free row': { row: free, granted: true },
  'a free row, the clock off by an hour': { row: free, clock: { off: HOUR }, granted: true },
  'a held row': { row: held, granted: false },
  'a held row, the clock off by an hour': { row: held, clock: { off: HOUR }, granted: false },
  'an ended lease that was witnessed': { row: ended, granted: true },
  'an ended lease that was not witnessed': { row: unwitnessed, granted: false },
  'an ended lease, the reader’s clock ahead': { row: ended, clock: { off: -HOUR }, granted: false },
  'an ended lease, the reader’s clock behind': { row: ended, clock: { off: HOUR }, granted: false },
  'an ended lease, the reader’s slack too large': {
    row: ended,
    clock: { slack: LEASE / 30 + 1 },
    granted: false,
  },
  'an ended lease, the clock tolerably off': { row: ended, clock: { off: SECOND / 4 }, granted: true },
  'an ended lease, tolerably off for the asker’s lease only': {
    ...{ row: { ...ended, lease: SECOND }, clock: { off: SECOND / 4 }, granted: false },
  },
  'a local lock': { row: { expiresIn: 'never', witnessed }, granted: false },
  'a held row in the state that was seen': { row: held, request: { seen: THEIRS }, granted: true },
  'a local lock in the state that was seen': {
    ...{ row: { expiresIn: 'never', witnessed }, request: { seen: THEIRS }, granted: true },
  },
  'an unwitnessed end in the state that was seen': {
    row: unwitnessed,
    request: { seen: THEIRS },
    granted: true,
  },
  'a held row that was renewed since it was seen': {
    ...{ row: held, request: { seen: { ...THEIRS, beat: 4 } }, granted: false },
  },
  'a held row that changed hands since it was seen': {
    ...{ row: held, request: { seen: { ...THEIRS, token: Buffer.alloc(16, 8) } }, granted: false },
  },
  'no row, seen before': { row: null, request: { seen: THEIRS }, granted: true },
  'no sentinel': { row: null, sentinel: 'missing', granted: false },
  'no sentinel, a free row': { row: free, sentinel: 'missing', granted: false },
  'a closed sentinel': { row: null, sentinel: 'closed', granted: false },
  'a closed sentinel, a dead owner': {
    row: held,
    sentinel: 'closed',
    request: { seen: THEIRS },
    granted: false,
  },
  'a sentinel of another server': { row: null, sentinel: 'of another server', granted: false },
  'a sentinel of another server, an ended lease': {
    row: ended,
    sentinel: 'of another server',
    granted: false,
  },
  'a sentinel older than the floor': { row: free, sentinel: 'older than the floor', granted: false },
};

const CASES = cells().flatMap((cell) => [
  { ...cell, flags: [] as string[], how: 'as Knex connects' },
  { ...cell, flags: ['-FOUND_ROWS'], how: 'without FOUND_ROWS' },
]);

describe.each(CASES)('a take ($flavor, $engine, $how)', ({ flags, ...cell }) => {
  const { make, take, row, set, now, session } = statementBench(cell, flags);

  async function write(table: string, key: Buffer, wanted: NonNullable<Situation['row']>) {
    const { expiresIn, lease = LEASE, witnessed = false } = wanted;
    const fixed = { free: 0, never: NEVER };
    const expires_at = typeof expiresIn === 'number' ? (await now()) + expiresIn : fixed[expiresIn];
    await set(table, key, { expires_at, lease, witnessed: Number(witnessed), beat: THEIRS.beat });
  }

  async function spoil(table: string, sentinel: NonNullable<Situation['sentinel']>) {
    if (sentinel === 'missing') await session().write(`DELETE FROM \`${table}\` WHERE lock_key = ''`);
    if (sentinel === 'closed') await set(table, SENTINEL, { expires_at: 1 });
    if (sentinel === 'of another server') await set(table, SENTINEL, { server_id: 4_000_000_000 });
  }

  async function arrange({ row: wanted, sentinel, request = {} }: Situation) {
    const { table, sql } = await make();
    const asked = takeRequest(freshName(), request);
    const floor =
      Number((await row(table, SENTINEL))!.fencing) + (sentinel === 'older than the floor' ? 1 : 0);
    if (wanted) {
      await take(sql, { ...takeRequest(''), key: asked.key, token: THEIRS.token });
      await write(table, asked.key, wanted);
    }
    if (sentinel) await spoil(table, sentinel);
    return { table, sql, request: { ...asked, floor } };
  }

  it.each(Object.entries(SITUATIONS))('on %s', async (_, situation) => {
    const { table, sql, request } = await arrange(situation);
    const before = await row(table, request.key);
    const { off = 0, slack = 0 } = situation.clock ?? {};
    const { fencing } = await take(sql, request, { expected: (await now()) + off, slack });
    const after = await row(table, request.key);
    if (!situation.granted) {
      expect(fencing).toBeNull();
      expect(after).toEqual(before);
      return;
    }
    expect(fencing).toBeGreaterThan(Math.max(Number(before?.fencing ?? 0), request.floor));
    expect(after).toMatchObject({ fencing, beat: 0, token: request.token, instance: request.instance });
    expect(after).toMatchObject({ lease: request.lease, label: Buffer.from('a label'), pid: process.pid });
    expect(Number(after!.expires_at) - Number(after!.acquired_at)).toBe(request.lease);
    expect(after!.witnessed).toBe(Math.abs(off) < SECOND ? 1 : 0);
  });

  it('of a local lock has no end', async () => {
    const { table, sql, request } = await arrange({ row: null, request: { scope: 'local' }, granted: true });
    expect((await take(sql, request)).fencing).not.toBeNull();
    expect(await row(table, request.key)).toMatchObject({ expires_at: NEVER });
  });

  it('answers a refusal after a grant on the same connection, and a grant after a refusal', async () => {
    const { sql } = await make();
    const [one, other] = [takeRequest(freshName()), takeRequest(freshName())];
    const first = await take(sql, one);
    expect(first.fencing).not.toBeNull();
    expect((await take(sql, { ...one, token: randomBytes(16) })).fencing).toBeNull();
    expect((await take(sql, other)).fencing).toBeGreaterThan(0);
    expect((await take(sql, { ...one, token: randomBytes(16) })).fencing).toBeNull();
  });

  it('says only with the fencing number of the row that it was granted, far ahead of the clock, too', async () => {
    const { table, sql, request } = await arrange({ row: free, granted: true });
    await set(table, request.key, { fencing: 4_000_000_000_000_000 });
    expect((await take(sql, request)).fencing).toBe(4_000_000_000_000_001);
    await set(table, SENTINEL, { fencing: 5_000_000_000_000_000 });
    expect((await take(sql, takeRequest(freshName()))).fencing).toBe(5_000_000_000_000_001);
  });
});

describe.each(cells().filter(({ engine }) => engine === 'memory'))('on a full table ($flavor)', (cell) => {
  const { make, take, row, set, session } = statementBench(cell);

  async function fullTable() {
    const { table, sql } = await make();
    const present = takeRequest(freshName());
    await take(sql, present);
    // A table's limit is that of the session that makes or alters it.
    await session().run('SET SESSION max_heap_table_size = 16384');
    await session().run(`ALTER TABLE \`${table}\` ENGINE = MEMORY`);
    await session().run('SET SESSION max_heap_table_size = DEFAULT');
    const isFull = async () =>
      await take(sql, takeRequest(freshName())).then(
        () => false,
        (error: unknown) => (error as LockStorageError).trouble === 'full',
      );
    while (!(await isFull()));
    return { table, sql, present };
  }

  it('refuses a new lock with an error, and never as if it were held', async () => {
    const { sql } = await fullTable();
    await expect(take(sql, takeRequest(freshName()))).rejects.toMatchObject({
      ...{ code: 'LOCK_STORAGE', trouble: 'full' },
    });
  });

  it('grants and refuses locks that have a row as always', async () => {
    const { table, sql, present } = await fullTable();
    const again = () => ({ ...present, token: randomBytes(16) });
    const before = await row(table, present.key);
    expect((await take(sql, again())).fencing).toBeNull();
    expect(await row(table, present.key)).toEqual(before);
    await session().write(sql.free, [present.key, present.token]);
    const next = again();
    const { fencing } = await take(sql, next);
    expect(fencing).toBeGreaterThan(Number(before!.fencing));
    expect(await row(table, present.key)).toMatchObject({
      fencing,
      token: next.token,
      beat: 0,
      witnessed: 1,
    });
    await set(table, present.key, { expires_at: 1 });
    expect((await take(sql, again(), { expected: 0 })).fencing).toBeNull();
    expect((await take(sql, { ...again(), seen: { token: next.token, beat: 0 } })).fencing).not.toBeNull();
    await set(table, present.key, { expires_at: 1 });
    expect((await take(sql, again())).fencing).not.toBeNull();
    await set(table, present.key, { expires_at: 0 });
    await set(table, SENTINEL, { expires_at: 1 });
    expect((await take(sql, again())).fencing).toBeNull();
  });
});
