import { beforeEach, describe, expect, it } from 'vitest';
import { ClockWitness } from '../../lib/core/clock-witness.js';
import { Judge } from '../../lib/core/judge.js';
import { NEVER, type LockRow } from '../../lib/store/lock-store.js';
import type { Liveness } from '../../lib/shared/types.js';
import { lockRow, snapshot } from '../support/grants.js';

const SECOND = 1_000_000;
const LEASE_MS = 3_000;
/** The database's clock in microseconds when the monotonic one shows 0. */
const EPOCH = 1_700_000_000 * SECOND;

let time: number;
let databaseOff: number;
let liveness: Liveness;
let judge: Judge;

beforeEach(() => {
  time = 0;
  databaseOff = 0;
  liveness = 'unknown';
  const clock = { monotonic: () => time, wall: () => EPOCH / 1_000 + time };
  judge = new Judge(() => liveness, new ClockWitness(clock, () => LEASE_MS));
});

const row = (more: Partial<LockRow> = {}) =>
  lockRow({ expiresAt: EPOCH + LEASE_MS * 1_000, lease: LEASE_MS * 1_000, ...more });

/** One look, which takes 10 ms. */
function verdict(seen: LockRow | undefined) {
  const sentAt = time;
  time += 10;
  const now = EPOCH + sentAt * 1_000 + databaseOff * 1_000;
  return judge.judge(seen, snapshot({ ...(seen && { row: seen }), sentAt, receivedAt: time, now }));
}

/** A row's verdicts over a time in which nobody touches it. */
function watch(seen: LockRow, ms: number, everyMs = 100) {
  const kinds = new Set<string>();
  for (const end = time + ms; time < end; time += everyMs - 10) kinds.add(verdict(seen).kind);
  return [...kinds];
}

describe('a judge of a lock', () => {
  it('finds it free without a row, and with one that was given back', () => {
    expect(verdict(undefined)).toEqual({ kind: 'free' });
    expect(verdict(row({ expiresAt: 0 }))).toEqual({ kind: 'free' });
  });

  it.each([{}, { expiresAt: NEVER }, { witnessed: false }])(
    'finds it ended when its owner is dead: %j',
    (more) => {
      liveness = 'dead';
      const { token, beat } = row();
      expect(verdict(row(more))).toEqual({ kind: 'ended', reason: 'dead', seen: { token, beat } });
    },
  );

  it.each(['alive', 'unknown'] as const)('never ends a local lock whose owner is %s', (state) => {
    liveness = state;
    const local = row({ expiresAt: NEVER });
    expect(watch(local, 10 * LEASE_MS)).toEqual(['held']);
    expect(verdict(local)).toMatchObject({ endsInMs: Infinity });
  });

  it.each(['alive', 'unknown'] as const)('ends it with its lease, not before: its owner is %s', (state) => {
    liveness = state;
    const held = row({ label: 'a label' });
    expect(verdict(held)).toMatchObject({
      ...{ kind: 'held', endsInMs: LEASE_MS, holder: { pid: held.owner.pid, label: 'a label' } },
    });
    time = LEASE_MS - 1;
    expect(verdict(held)).toMatchObject({ kind: 'held', endsInMs: 1 });
    time = LEASE_MS;
    expect(verdict(held)).toMatchObject({ kind: 'ended', reason: 'expired', seen: { beat: 0 } });
  });

  it('believes no clock that the writer of the row did not believe: it watches the row for its lease', () => {
    const held = row({ witnessed: false, expiresAt: EPOCH - SECOND });
    expect(verdict(held)).toMatchObject({ kind: 'held', endsInMs: LEASE_MS });
    expect(watch(held, LEASE_MS - 100)).toEqual(['held']);
    time = LEASE_MS + 9;
    expect(verdict(held).kind).toBe('held');
    time = LEASE_MS + 10;
    expect(verdict(held)).toMatchObject({ kind: 'ended', reason: 'expired' });
  });

  it.each([3_600_000, -3_600_000])(
    'believes no clock that disagrees with its own: it watches (%d)',
    (off) => {
      databaseOff = off;
      const held = row({ expiresAt: EPOCH + off * 1_000 - SECOND });
      expect(watch(held, LEASE_MS)).toEqual(['held']);
      time += 100;
      expect(verdict(held).kind).toBe('ended');
    },
  );

  it('takes over a row from far in the future after watching it', () => {
    const held = row({ expiresAt: EPOCH + 1_000 * SECOND });
    expect(watch(held, LEASE_MS)).toEqual(['held']);
    time += 100;
    expect(verdict(held).kind).toBe('ended');
  });

  it.each([{ beat: 1 }, { token: Buffer.alloc(16, 9) }])('watches anew what was touched: %j', (touched) => {
    const held = row({ witnessed: false });
    expect(watch(held, LEASE_MS - 100)).toEqual(['held']);
    const next = { ...held, ...touched };
    expect(watch(next, LEASE_MS)).toEqual(['held']);
    time += 100;
    expect(verdict(next)).toMatchObject({ kind: 'ended', seen: { token: next.token, beat: next.beat } });
  });

  it('does not let one who comes back to an old row find it watched when it was another one meanwhile', () => {
    const held = row({ witnessed: false });
    verdict(held);
    verdict({ ...held, beat: 1 });
    time += 2 * LEASE_MS;
    expect(verdict(held).kind).toBe('held');
  });

  it('watches for the lease that the row has, not for that of the one who waits', () => {
    const long = row({ witnessed: false, lease: 10 * LEASE_MS * 1_000 });
    expect(watch(long, 9 * LEASE_MS)).toEqual(['held']);
    time += LEASE_MS + 100;
    expect(verdict(long).kind).toBe('ended');
  });

  it('watches many rows, and forgets the oldest rather than grow', () => {
    const one = row({ witnessed: false });
    const rows = Array.from({ length: 10_001 }, (_, n) => ({ ...one, key: Buffer.from(`g:${n}`) }));
    for (const each of rows) verdict(each);
    time += 2 * LEASE_MS;
    expect(verdict(rows.at(-1)).kind).toBe('ended');
    expect(verdict(rows[1]).kind).toBe('ended');
    expect(verdict(rows[0]).kind).toBe('held');
  });
});
