import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { NEVER, type TakeRequest } from '../../lib/store/lock-store.js';
import { bytes, ownerValues, SENTINEL } from '../../lib/store/rows.js';
import type { Value } from '../../lib/store/session.js';
import { freshName } from '../support/locks.js';
import { describeEachCell } from '../support/matrix.js';
import { LEASE, SECOND, statementBench, takeRequest } from '../support/statement-bench.js';

describeEachCell('a statement on a held lock', (cell) => {
  const { make, take, row, set, now, session } = statementBench(cell);

  async function heldLock(more: Partial<TakeRequest> = {}) {
    const made = await make();
    const request = takeRequest(freshName(), more);
    const { fencing } = await take(made.sql, request);
    const state = () => row(made.table, request.key);
    return { ...made, request, fencing: fencing!, state };
  }

  const changed = async (text: string, values: readonly Value[]) =>
    (await session().write(text, values)).affectedRows;

  it('frees it under its token only, and once', async () => {
    const { sql, request, fencing, state } = await heldLock();
    const before = await state();
    expect(await changed(sql.free, [request.key, randomBytes(16)])).toBe(0);
    expect(await changed(sql.free, [SENTINEL, request.token])).toBe(0);
    expect(await state()).toEqual(before);
    expect(await changed(sql.free, [request.key, request.token])).toBe(1);
    expect(await state()).toMatchObject({ expires_at: 0, fencing, token: request.token });
    expect(await changed(sql.free, [request.key, request.token])).toBe(0);
  });

  it('frees it only in the state that was seen', async () => {
    const { sql, request, state } = await heldLock();
    await changed(sql.renew, [3, await now(), 0, [request.key], [request.token], 3]);
    const before = await state();
    for (const [token, beat] of [[request.token, 2] as const, [randomBytes(16), 3] as const]) {
      expect(await changed(sql.freeSeen, [request.key, token, beat])).toBe(0);
    }
    expect(await state()).toEqual(before);
    expect(await changed(sql.freeSeen, [request.key, request.token, 3])).toBe(1);
    expect(await changed(sql.freeSeen, [request.key, request.token, 3])).toBe(0);
    expect((await state())!.expires_at).toBe(0);
  });

  it('frees all of one service, and nobody else’s', async () => {
    const { sql, table } = await make();
    const requests = [0, 1, 2, 3].map(() => takeRequest(freshName()));
    for (const request of requests) await take(sql, request);
    const [mine, others] = [requests.slice(0, 2), requests.slice(2)];
    const keys = requests.map(({ key }) => key);
    expect(await changed(sql.freeAll, [keys, mine.map(({ token }) => token)])).toBe(2);
    for (const { key } of mine) expect((await row(table, key))!.expires_at).toBe(0);
    for (const { key } of others) expect(Number((await row(table, key))!.expires_at)).toBeGreaterThan(0);
  });

  it('renews it from the moment it is sent, and says whether the clock was witnessed', async () => {
    const { sql, request, fencing, state } = await heldLock();
    const renew = async (beat: number, off = 0) =>
      await changed(sql.renew, [beat, (await now()) + off, 0, [request.key], [request.token], beat]);
    expect(await renew(1)).toBe(1);
    const renewed = (await state())!;
    expect(renewed).toMatchObject({ beat: 1, witnessed: 1, fencing });
    expect(Number(renewed.expires_at) - Number(renewed.renewed_at)).toBe(LEASE);
    await renew(2, 3_600 * SECOND);
    expect(await state()).toMatchObject({ beat: 2, witnessed: 0, fencing });
  });

  it('renews a local lock without giving it an end', async () => {
    const { sql, request, state } = await heldLock({ scope: 'local' });
    await changed(sql.renew, [1, await now(), 0, [request.key], [request.token], 1]);
    expect(await state()).toMatchObject({ beat: 1, expires_at: NEVER });
  });

  it('writes a lock back only while the table recovers, and never over a newer one', async () => {
    const { sql, table, request, fencing, state } = await heldLock();
    const floor = Number((await row(table, SENTINEL))!.fencing);
    const reclaim = async (over: { floor?: number } = {}) =>
      await session().write(sql.reclaim, [
        ...[request.key, request.token, ...ownerValues(request), bytes('back'), LEASE, 9],
        ...[await now(), 0, LEASE, fencing, fencing, null, LEASE, over.floor ?? floor],
      ]);
    const lose = () => session().write(`DELETE FROM \`${table}\` WHERE lock_key = ?`, [request.key]);

    await lose();
    await reclaim();
    expect(await state()).toBeUndefined();
    await set(table, SENTINEL, { expires_at: NEVER });
    await reclaim({ floor: floor + 1 });
    expect(await state()).toBeUndefined();
    await reclaim();
    expect(await state()).toMatchObject({ token: request.token, fencing, beat: 9, label: bytes('back') });

    await set(table, request.key, { token: randomBytes(16), fencing: fencing - 1 });
    await reclaim();
    expect(await state()).toMatchObject({ token: request.token, fencing });

    for (const newer of [fencing, fencing + 1]) {
      await set(table, request.key, { token: randomBytes(16), fencing: newer });
      const before = await state();
      await reclaim();
      expect(await state()).toEqual(before);
    }

    await lose();
    await set(table, SENTINEL, { server_id: 4_000_000_000 });
    await reclaim();
    expect(await state()).toBeUndefined();
  });

  it('closes the table only over the sentinel that was seen, or where there is none', async () => {
    const { sql, table } = await make();
    const { instance, owner } = takeRequest('');
    const begin = async (seen: Buffer | null, floor = 0) => {
      const token = randomBytes(16);
      const clock = [await now(), 0];
      const values = [token, ...ownerValues({ instance, owner }), LEASE, ...clock, LEASE, floor, LEASE, seen];
      await session().write(sql.beginRecovery, values);
      return token;
    };
    const sentinel = async () => (await row(table, SENTINEL))!;
    const open = await sentinel();
    await begin(null);
    await begin(randomBytes(16));
    expect(await sentinel()).toEqual(open);
    const ahead = 4_000_000_000_000_000;
    const first = await begin(open.token as Buffer, ahead);
    const closed = await sentinel();
    expect(closed).toMatchObject({ token: first, fencing: ahead, lease: LEASE, server_id: open.server_id });
    expect(Number(closed.expires_at) - Number(closed.acquired_at)).toBe(LEASE);
    await begin(open.token as Buffer);
    expect(await sentinel()).toEqual(closed);
    const second = await begin(first);
    expect(await sentinel()).toMatchObject({ token: second, fencing: ahead + 1 });
    await session().write(`DELETE FROM \`${table}\` WHERE lock_key = ''`);
    const third = await begin(null);
    await begin(null);
    expect(await sentinel()).toMatchObject({ token: third });
  });

  it('opens a closed table only in the state that was seen, and on its own server', async () => {
    const { sql, table } = await make();
    await set(table, SENTINEL, { expires_at: NEVER, beat: 1 });
    const { token } = (await row(table, SENTINEL)) as unknown as { token: Buffer };
    const closed = await row(table, SENTINEL);
    await changed(sql.endRecovery, [randomBytes(16), 1]);
    await changed(sql.endRecovery, [token, 0]);
    expect(await row(table, SENTINEL)).toEqual(closed);
    await set(table, SENTINEL, { server_id: 4_000_000_000 });
    await changed(sql.endRecovery, [token, 1]);
    expect(await row(table, SENTINEL)).toMatchObject({ expires_at: NEVER });
    await set(table, SENTINEL, { server_id: Number(closed!.server_id) });
    await changed(sql.endRecovery, [token, 1]);
    expect(await row(table, SENTINEL)).toMatchObject({ expires_at: 0 });
  });
});
