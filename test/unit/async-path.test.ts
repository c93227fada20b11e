import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AsyncPath } from '../../lib/core/async-path.js';
import { Hold } from '../../lib/core/hold.js';
import { grant } from '../support/grants.js';
import { apart } from '../support/locks.js';

const clock = { monotonic: () => 0, wall: () => 0 };

function hold(name = 'k'): Hold {
  return new Hold(grant({ name }), clock, () => undefined);
}

/** The way `acquire()` uses it: a step begins before the lock is granted. */
async function acquire(path: AsyncPath, name = 'k'): Promise<Hold> {
  const step = path.begin();
  await turn();
  return (step.hold = hold(name));
}

/** In a path of its own, so that no test is a part of another one's. */
const alone = (test: () => Promise<void>) => () => apart(test);

describe('an async path', () => {
  const { id } = hold();

  it(
    'holds what it has acquired, until it gives it back',
    alone(async () => {
      const path = new AsyncPath();
      expect(path.holding(id)).toBeUndefined();
      const held = path.begin();
      held.hold = hold();
      await turn();
      expect(path.holding(id)).toBe(held.hold);
      expect(path.holding(hold('other').id)).toBeUndefined();
      held.hold.release();
      expect(path.holding(id)).toBeUndefined();
    }),
  );

  it(
    'goes on behind an awaited acquisition, and into whatever it calls',
    alone(async () => {
      const path = new AsyncPath();
      const step = path.begin();
      await turn();
      step.hold = hold();
      const inner = async () => {
        await turn();
        return path.holding(id);
      };
      expect(await inner()).toBe(step.hold);
      expect(await Promise.all([inner(), inner()])).toEqual([step.hold, step.hold]);
      expect(await new Promise((seen) => setTimeout(() => seen(path.holding(id)), 1))).toBe(step.hold);
    }),
  );

  it(
    'sees what it holds inside run() only, and all of what was held around it',
    alone(async () => {
      const path = new AsyncPath();
      const [outer, inner] = [hold('outer'), hold('inner')];
      await path.run(outer, async () => {
        await turn();
        await path.run(inner, async () => {
          await turn();
          expect([path.holding(outer.id), path.holding(inner.id)]).toEqual([outer, inner]);
        });
        expect([path.holding(outer.id), path.holding(inner.id)]).toEqual([outer, undefined]);
      });
      expect(path.holding(outer.id)).toBeUndefined();
    }),
  );

  it(
    'is not that of a sibling: calls made in one go are no part of each other',
    alone(async () => {
      const path = new AsyncPath();
      const steps = Array.from({ length: 5 }, () => {
        expect(path.holding(id)).toBeUndefined();
        const step = path.begin();
        step.hold = hold();
        return step;
      });
      expect(new Set(steps.map(({ parent }) => parent))).toEqual(new Set([undefined]));
    }),
  );

  it(
    'of siblings that started inside a held lock still holds that',
    alone(async () => {
      const path = new AsyncPath();
      const outer = hold('outer');
      await path.run(outer, async () => {
        await turn();
        const seen = [0, 1, 2].map(() => {
          path.begin().hold = hold();
          return path.holding(outer.id);
        });
        expect(seen).toEqual([outer, outer, outer]);
      });
    }),
  );

  it(
    'is never taken for that of another worker, however long they loop',
    alone(async () => {
      const path = new AsyncPath();
      const worker = async () => {
        for (let round = 0; round < 100; round++) {
          expect(path.holding(id)).toBeUndefined();
          const step = path.begin();
          if (round % 3 === 0) await turn();
          else await Promise.resolve();
          step.hold = hold();
          expect(path.holding(id)).toBeDefined();
          await turn();
          step.hold.release();
        }
      };
      await Promise.all(Array.from({ length: 10 }, worker));
      const started = [];
      for (let n = 0; n < 10; n++) started.push(worker());
      await Promise.all(started);
    }),
  );

  it(
    'does not grow with the locks that were given back, or never granted',
    alone(async () => {
      const path = new AsyncPath();
      const kept = path.begin();
      await turn();
      kept.hold = hold('kept');
      for (let round = 0; round < 1_000; round++) {
        const step = path.begin();
        await Promise.resolve();
        if (round % 2) (step.hold = hold()).release();
      }
      const last = path.begin();
      expect(last.parent).toBe(kept);
      expect(last.parent!.parent).toBeUndefined();
    }),
  );

  it(
    'holds nothing that it has lost',
    alone(async () => {
      const path = new AsyncPath();
      const lost = hold();
      await path.run(lost, async () => {
        lost.lose('taken');
        await turn();
        expect(path.holding(id)).toBeUndefined();
      });
    }),
  );

  it(
    'that waits for its lock does not hold it yet',
    alone(async () => {
      const path = new AsyncPath();
      const waiting = acquire(path);
      expect(path.holding(id)).toBeUndefined();
      const held = await waiting;
      expect(held.state).toBe('held');
    }),
  );
});
