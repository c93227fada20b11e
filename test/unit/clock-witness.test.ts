import { beforeEach, describe, expect, it } from 'vitest';
import { ClockWitness } from '../../lib/core/clock-witness.js';
import { lockRow } from '../support/grants.js';

const MS = 1_000;
const SECOND = 1_000_000;
const HOUR = 3_600 * SECOND;
const LEASE_MS = 30_000;
const LEASE = LEASE_MS * MS;

/** The true time in milliseconds, and how far each clock is from it. */
let time: number;
let wallOff: number;
let databaseOff: number;
let witness: ClockWitness;

beforeEach(() => {
  time = 1_000_000;
  wallOff = 0;
  databaseOff = 0;
  const clock = { monotonic: () => time, wall: () => time + wallOff };
  witness = new ClockWitness(clock, () => LEASE_MS);
});

/** A look that takes so long, and reads the database's clock in its middle. */
function look(tookMs = 0, sentinelLease = 0) {
  const sentAt = time;
  time += tookMs;
  const now = Math.round((sentAt + tookMs / 2 + databaseOff) * MS);
  const sentinel = sentinelLease ? lockRow({ lease: sentinelLease }) : null;
  return { sentAt, receivedAt: time, now, sentinel };
}

/** Looks, and says whether the witness believes what it saw about a lease. */
function believes(lease = LEASE, tookMs = 0, sentinelLease = 0): boolean {
  const seen = look(tookMs, sentinelLease);
  witness.hear(seen);
  return witness.believes(seen, lease);
}

describe('a witness of the database’s clock', () => {
  it('expects it at its own wall clock before it has seen it', () => {
    wallOff = 7;
    expect(witness.testify()).toEqual({ expected: (time + 7) * MS, slack: 0 });
  });

  it('expects it where its own monotonic clock puts it, once it was seen', () => {
    witness.hear(look());
    time += 10_000;
    const { expected, slack } = witness.testify();
    expect(expected).toBe(time * MS);
    // Two clocks may drift apart by a thousandth.
    expect(slack).toBe(10_000);
  });

  it('believes it where all clocks agree, also after a long time', () => {
    expect(believes()).toBe(true);
    for (let round = 0; round < 100; round++) {
      time += 5_000;
      expect(believes()).toBe(true);
    }
  });

  it.each([1, -1])('tolerates a thirtieth of the lease, and no more (%d)', (sign) => {
    databaseOff = (sign * LEASE_MS) / 30;
    expect(believes(LEASE)).toBe(true);
    databaseOff = sign * (LEASE_MS / 30 + 1);
    witness = new ClockWitness({ monotonic: () => time, wall: () => time }, () => LEASE_MS);
    expect(believes(LEASE)).toBe(false);
    expect(believes(LEASE * 2)).toBe(true);
  });

  it.each([HOUR, -HOUR])(
    'does not believe it when it disagrees with the wall clock from the start: %d',
    (off) => {
      databaseOff = off / MS;
      expect(believes()).toBe(false);
      time += 10 * LEASE_MS;
      expect(believes()).toBe(false);
    },
  );

  it.each([HOUR, -HOUR, 2 * SECOND, -2 * SECOND])(
    'does not believe it after it jumped, for one lease: %d',
    (by) => {
      expect(believes()).toBe(true);
      databaseOff += by / MS;
      wallOff += by / MS;
      for (let waited = 0; waited < LEASE_MS; waited += 5_000) {
        expect(believes()).toBe(false);
        time += 5_000;
      }
      time += 1;
      expect(believes()).toBe(true);
    },
  );

  it('does not believe it for as long as the longest lease on the table, which may be somebody else’s', () => {
    expect(believes(LEASE, 0, 3 * LEASE)).toBe(true);
    databaseOff += HOUR / MS;
    wallOff += HOUR / MS;
    for (let waited = 0; waited < 3 * LEASE_MS; waited += 5_000) {
      expect(believes(LEASE, 0, 3 * LEASE)).toBe(false);
      time += 5_000;
    }
    time += 1;
    expect(believes(LEASE, 0, 3 * LEASE)).toBe(true);
  });

  it('does not take a clock that went away and came back for one that never moved', () => {
    expect(believes()).toBe(true);
    databaseOff = HOUR / MS;
    expect(believes()).toBe(false);
    databaseOff = 0;
    expect(believes()).toBe(false);
    time += LEASE_MS + 1;
    expect(believes()).toBe(true);
  });

  it('adds up small jumps that each alone would be tolerated', () => {
    const step = LEASE_MS / 30 / 3;
    expect(believes()).toBe(true);
    const seen = [1, -1, 1, -1].map((sign) => {
      databaseOff += sign * step;
      return believes();
    });
    expect(seen[0]).toBe(true);
    expect(seen.at(-1)).toBe(false);
  });

  it('does not believe it once its own wall clock was set wrong, and does again once that is right', () => {
    expect(believes()).toBe(true);
    wallOff = HOUR / MS;
    expect(believes()).toBe(false);
    wallOff = 0;
    expect(believes()).toBe(true);
  });

  it('takes no slow reply for a jump, and is as unsure as the reply was slow', () => {
    expect(believes(LEASE, 10)).toBe(true);
    for (const took of [400, 3, 1_000, 20, 700]) {
      time += 100;
      witness.hear(look(took));
    }
    expect(believes(LEASE, 3)).toBe(true);
    const fresh = new ClockWitness({ monotonic: () => time, wall: () => time }, () => LEASE_MS);
    const slow = look(4_000);
    fresh.hear(slow);
    expect(fresh.testify().slack).toBe(2_000 * MS);
    expect(fresh.believes(slow, LEASE)).toBe(false);
  });

  it('is the surer the more it has seen', () => {
    witness.hear(look(400));
    const unsure = witness.testify().slack;
    witness.hear(look(2));
    expect(witness.testify().slack).toBeLessThan(unsure / 10);
  });

  it('never says it is surer than it is: the true clock is always within its slack', () => {
    for (let round = 0; round < 500; round++) {
      time += (round * 37) % 400;
      databaseOff += (round % 3) / 10_000;
      witness.hear(look((round * 13) % 50));
      const { expected, slack } = witness.testify();
      expect(Math.abs(expected - (time + databaseOff) * MS)).toBeLessThanOrEqual(slack + 1);
    }
  });
});
