import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Lanes, type Lane } from '../../lib/store/lanes.js';

/** Asks for places, and notes who got one. */
function asking(lanes: Lanes) {
  const served: string[] = [];
  const leaves = new Map<string, () => void>();
  const enter = async (lane: Lane, who: string) => {
    const leave = await lanes.enter(lane);
    served.push(who);
    leaves.set(who, leave);
  };
  const ask = (lane: Lane, who: string) => void enter(lane, who);
  return { served, ask, leave: (who: string) => leaves.get(who)!() };
}

describe('the lanes to the database', () => {
  it('keep one place free for upkeep, however many takes there are', async () => {
    const { served, ask } = asking(new Lanes(3));
    for (let n = 0; n < 10; n++) ask('take', `take ${n}`);
    await turn();
    expect(served).toEqual(['take 0', 'take 1']);
    ask('upkeep', 'upkeep');
    await turn();
    expect(served).toEqual(['take 0', 'take 1', 'upkeep']);
  });

  it('let upkeep go first, and each lane in its order', async () => {
    const { served, ask, leave } = asking(new Lanes(2));
    ask('take', 'take 0');
    ask('upkeep', 'upkeep 0');
    for (const who of ['take 1', 'take 2']) ask('take', who);
    for (const who of ['upkeep 1', 'upkeep 2']) ask('upkeep', who);
    await turn();
    expect(served).toEqual(['take 0', 'upkeep 0']);
    for (const who of ['take 0', 'upkeep 0', 'upkeep 1', 'upkeep 2', 'take 1']) {
      leave(who);
      await turn();
    }
    expect(served).toEqual(['take 0', 'upkeep 0', 'upkeep 1', 'upkeep 2', 'take 1', 'take 2']);
  });

  it('give takes all places but one, and no more when upkeep leaves', async () => {
    const { served, ask, leave } = asking(new Lanes(3));
    for (const who of ['upkeep 0', 'upkeep 1', 'upkeep 2']) ask('upkeep', who);
    ask('take', 'take 0');
    await turn();
    expect(served).not.toContain('take 0');
    leave('upkeep 0');
    await turn();
    expect(served).not.toContain('take 0');
    leave('upkeep 1');
    await turn();
    expect(served).toContain('take 0');
  });

  it('of a single place are shared: nobody waits for ever', async () => {
    const lanes = new Lanes(1);
    let inside = 0;
    const pass = async (lane: Lane) => {
      const leave = await lanes.enter(lane);
      expect((inside += 1)).toBe(1);
      await turn();
      inside -= 1;
      leave();
    };
    await Promise.all(Array.from({ length: 40 }, (_, n) => pass(n % 2 ? 'take' : 'upkeep')));
  });

  it('never hold more than they have, and let everybody through', async () => {
    const lanes = new Lanes(4);
    const inside = { take: 0, upkeep: 0 };
    const pass = async (lane: Lane, n: number) => {
      const leave = await lanes.enter(lane);
      inside[lane] += 1;
      expect(inside.take + inside.upkeep).toBeLessThanOrEqual(4);
      expect(inside.take).toBeLessThanOrEqual(3);
      for (let turns = 0; turns < n % 4; turns++) await turn();
      inside[lane] -= 1;
      leave();
    };
    await Promise.all(Array.from({ length: 300 }, (_, n) => pass(n % 3 ? 'take' : 'upkeep', n)));
    expect(inside).toEqual({ take: 0, upkeep: 0 });
  });
});
