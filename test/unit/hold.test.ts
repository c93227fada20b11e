import { beforeEach, describe, expect, it } from 'vitest';
import { GrantedLock } from '../../lib/core/granted-lock.js';
import { Hold, marginOf, type Grant, type HoldState } from '../../lib/core/hold.js';
import { LockLostError } from '../../lib/shared/errors.js';
import { grant } from '../support/grants.js';

let now: number;
let ends: HoldState[];
beforeEach(() => {
  now = 0;
  ends = [];
});

function hold(more: Partial<Grant> = {}): Hold {
  return new Hold(grant(more), { monotonic: () => now, wall: () => 0 }, (state) => ends.push(state));
}

/** Two handles of one hold, and what was really released. */
function handlesOf(held: Hold) {
  const released: Hold[] = [];
  const release = (it: Hold) => {
    released.push(it);
    return Promise.resolve(it.release());
  };
  return { lock: new GrantedLock(held, release), second: new GrantedLock(held, release), released };
}

describe('a hold', () => {
  it('leaves a tenth of its lease as margin, and 50 ms at least', () => {
    expect([100, 500, 501, 3_000].map(marginOf)).toEqual([50, 50, 50.1, 300]);
  });

  it('lasts from when its request was sent to the margin before the end of its lease, and not a moment longer', () => {
    const held = hold({ sentAt: 1_000 });
    expect(held.deadline).toBe(3_700);
    expect(held.dueAt).toBe(2_000);
    now = 3_699.9;
    expect([held.loss, held.state]).toEqual([undefined, 'held']);
    now = 3_700;
    expect([held.loss, held.state]).toEqual(['expired', 'lost']);
  });

  it('is lost once and for all, and its holder told once, whatever comes later', () => {
    const held = hold();
    const aborts: unknown[] = [];
    held.signal.addEventListener('abort', () => aborts.push(held.signal.reason));
    now = 2_700;
    expect(held.loss).toBe('expired');
    now = 0;
    held.sending(1, 0);
    held.confirm(1);
    held.lose('taken');
    expect(held.release()).toBe(false);
    expect(held.loss).toBe('expired');
    expect(aborts).toEqual([expect.objectContaining({ reason: 'expired', lockName: 'k' })]);
    expect(ends).toEqual(['lost']);
  });

  it('is prolonged by a renewal that was read back, from when that one was sent', () => {
    const held = hold();
    held.sending(1, 1_000);
    held.sending(2, 2_000);
    expect(held.deadline).toBe(2_700);
    held.confirm(1);
    expect(held.deadline).toBe(3_700);
    held.confirm(2);
    expect(held.deadline).toBe(4_700);
  });

  it('is not prolonged by a beat that it did not send, or by one that another one has overtaken', () => {
    const held = hold();
    held.sending(1, 1_000);
    held.confirm(7);
    held.confirm(0);
    expect(held.deadline).toBe(2_700);
    held.sending(2, 2_000);
    held.confirm(2);
    held.confirm(1);
    expect(held.deadline).toBe(4_700);
  });

  it('never comes nearer to its end', () => {
    const held = hold({ sentAt: 1_000 });
    held.sending(1, 500);
    held.confirm(1);
    expect(held.deadline).toBe(3_700);
  });

  it('of a local lock is unconfirmed after its deadline, and confirmed again', () => {
    const held = hold({ scope: 'local' });
    now = 2_700;
    expect([held.loss, held.state, held.signal.aborted]).toEqual(['unconfirmed', 'held', false]);
    held.sending(1, 2_700);
    held.confirm(1);
    expect(held.loss).toBeUndefined();
    held.lose('missing');
    expect([held.loss, held.signal.aborted]).toEqual(['missing', true]);
  });

  it('is released once, and its signal stays silent', () => {
    const held = hold();
    expect([held.release(), held.release()]).toEqual([true, false]);
    expect([held.loss, held.signal.aborted]).toEqual(['released', false]);
    held.lose('taken');
    expect([held.loss, held.signal.aborted]).toEqual(['released', false]);
    expect(ends).toEqual(['released']);
  });
});

describe('a handle', () => {
  it('shows its lock', () => {
    const held = hold({ scope: 'local', fencing: 2 ** 52 });
    const { lock } = handlesOf(held);
    expect(lock).toMatchObject({ name: 'k', scope: 'local', fencingToken: 2 ** 52, held: true });
    expect(lock.token).toBe(held.grant.token.toString('hex'));
    expect(lock.signal).toBe(held.signal);
  });

  it('knows without any timer that its deadline has passed', () => {
    const { lock } = handlesOf(hold());
    lock.assertHeld();
    now = 2_700;
    expect(() => lock.assertHeld()).toThrow(LockLostError);
    expect(lock.held).toBe(false);
    expect(lock.signal.aborted).toBe(true);
  });

  it('releases once, and says so after that', async () => {
    const { lock, released } = handlesOf(hold());
    expect([await lock.release(), await lock.release()]).toEqual([true, false]);
    expect(released).toHaveLength(1);
    expect(lock.held).toBe(false);
    expect(() => lock.assertHeld()).toThrow(expect.objectContaining({ reason: 'released' }) as Error);
  });

  it('shared with another one leaves the lock to that, whichever goes first', async () => {
    const held = hold();
    held.handles = 2;
    const { lock, second, released } = handlesOf(held);
    expect(await second.release()).toBe(true);
    expect([second.held, lock.held]).toEqual([false, true]);
    expect(released).toEqual([]);
    expect(await second.release()).toBe(false);
    await lock[Symbol.asyncDispose]();
    expect(released).toEqual([held]);
  });

  it('shared with another one answers false when the lock was lost', async () => {
    const held = hold();
    held.handles = 2;
    const { lock, second } = handlesOf(held);
    held.lose('taken');
    expect([await second.release(), await lock.release()]).toEqual([false, false]);
  });
});

it('a beat that several statements carried counts from the first of them', () => {
  const clock = { monotonic: () => 0, wall: () => 0 };
  const grant = {
    key: Buffer.from('g:k'),
    token: Buffer.alloc(16),
    name: 'k',
    scope: 'global',
    label: '',
  } as const;
  const hold = new Hold({ ...grant, leaseMs: 10_000, fencing: 1, sentAt: 0 }, clock, () => undefined);
  hold.sending(1, 100);
  hold.sending(1, 5_000);
  hold.confirm(1);
  expect(hold.deadline).toBe(100 + 10_000 - 1_000);
});
