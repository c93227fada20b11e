import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Gates } from '../../lib/core/gate.js';

/** The signal of a request that nobody calls off. */
const never = () => new AbortController().signal;

/** The outcome of a promise that has settled by now, or 'pending'. */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  await turn();
  return await Promise.race([promise, Promise.resolve('pending')]);
}

describe('the line before a lock', () => {
  it('lets the first one pass at once, and the others in their order', async () => {
    const gates = new Gates();
    const leave = await gates.enter('k', 0, never());
    const order: number[] = [];
    const others = Array.from({ length: 20 }, async (_, n) => {
      const leaveAgain = await gates.enter('k', 60_000, never());
      order.push(n);
      await turn();
      leaveAgain!();
    });
    expect(await stateOf(others[0]!)).toBe('pending');
    leave!();
    await Promise.all(others);
    expect(order).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(gates.isTaken('k')).toBe(false);
  });

  it('has one at its head at a time', async () => {
    const gates = new Gates();
    let inside = 0;
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const leave = await gates.enter('k', Infinity, never());
        expect((inside += 1)).toBe(1);
        await turn();
        inside -= 1;
        leave!();
      }),
    );
  });

  it('is another one for another lock', async () => {
    const gates = new Gates();
    await gates.enter('one', 0, never());
    expect(await gates.enter('other', 0, never())).not.toBeNull();
  });

  it.each([0, -1, 20])(
    'is left after %d ms by one who waits no longer, and then by nobody’s mistake',
    async (ms) => {
      const gates = new Gates();
      const leave = await gates.enter('k', 0, never());
      const startedAt = performance.now();
      const patient = gates.enter('k', 60_000, never());
      expect(await gates.enter('k', ms, never())).toBeNull();
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(ms);
      leave!();
      const next = await patient;
      expect(gates.isTaken('k')).toBe(true);
      next!();
      expect(gates.isTaken('k')).toBe(false);
    },
  );

  it.each([Infinity, 1e12, 2 ** 31])('can be waited in for ever: %d ms', async (ms) => {
    const gates = new Gates();
    const leave = await gates.enter('k', 0, never());
    // One who gives up shows that there was time for timers.
    const waiting = gates.enter('k', ms, never());
    expect(await gates.enter('k', 20, never())).toBeNull();
    expect(await stateOf(waiting)).toBe('pending');
    leave!();
    expect(await waiting).not.toBeNull();
  });

  it('is left by one who is called off, with the reason', async () => {
    const gates = new Gates();
    const leave = await gates.enter('k', 0, never());
    const [first, second] = [new AbortController(), new AbortController()];
    const waiting = [first, second].map(({ signal }) => gates.enter('k', 60_000, signal));
    first.abort('the reason');
    await expect(waiting[0]).rejects.toBe('the reason');
    expect(await stateOf(waiting[1]!)).toBe('pending');
    leave!();
    (await waiting[1])!();
    expect(gates.isTaken('k')).toBe(false);
  });

  it('is not entered by one who was called off before, where there is a line', async () => {
    const gates = new Gates();
    await gates.enter('k', 0, never());
    await expect(gates.enter('k', 60_000, AbortSignal.abort('the reason'))).rejects.toBe('the reason');
  });

  it('passes to one who is called off in the very turn in which the turn is theirs', async () => {
    const gates = new Gates();
    const leave = await gates.enter('k', 0, never());
    const controller = new AbortController();
    const waiting = gates.enter('k', 60_000, controller.signal);
    leave!();
    controller.abort('too late');
    // Entered: whoever is at the head heeds the signal, and leaves.
    (await waiting)!();
    expect(gates.isTaken('k')).toBe(false);
  });

  it('does not lose its place when many leave it in every way at once', async () => {
    const gates = new Gates();
    const entered = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const controller = new AbortController();
        if (n % 3 === 1) setTimeout(() => controller.abort('off'), n % 7);
        const leave = await gates
          .enter('k', n % 3 === 2 ? n % 5 : 60_000, controller.signal)
          .catch(() => null);
        if (n % 4 === 0) await turn();
        leave?.();
        return leave !== null;
      }),
    );
    expect(entered.filter((_, n) => n % 3 === 0)).not.toContain(false);
    expect(gates.isTaken('k')).toBe(false);
  });
});

it('does not end a wait of months, or one just before its time, because timers cannot count that far or fire early', async () => {
  const gates = new Gates();
  const leave = await gates.enter('k', 0, never());
  let isOver = false;
  const patient = gates.enter('k', 3_600_000_000, never()).finally(() => (isOver = true));
  for (let ms = 1; ms <= 20; ms++) {
    const startedAt = performance.now();
    expect(await gates.enter('k', ms, never())).toBeNull();
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(ms);
  }
  expect(isOver).toBe(false);
  leave!();
  expect(await patient).not.toBeNull();
});
