import { describe, expect, it } from 'vitest';
import { backOff, LONGEST_PAUSE_MS } from '../../lib/core/back-off.js';

const longest = (turn: number) => backOff(turn, () => 1);
const shortest = (turn: number) => backOff(turn, () => 0);

describe('the pause before the next look', () => {
  it('begins with a few milliseconds and grows to its limit, at which it stays', () => {
    expect(longest(0)).toBe(5);
    for (let turn = 1; turn < 100; turn++) expect(longest(turn)).toBeGreaterThanOrEqual(longest(turn - 1));
    expect(longest(3)).toBeGreaterThan(longest(0));
    for (const turn of [20, 1_000, 1e9]) expect(longest(turn)).toBe(LONGEST_PAUSE_MS);
  });

  it('is jittered by half, and never more', () => {
    for (let turn = 0; turn < 30; turn++) {
      expect(shortest(turn)).toBe(longest(turn) / 2);
      const pauses = Array.from({ length: 50 }, () => backOff(turn));
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(shortest(turn));
      expect(Math.max(...pauses)).toBeLessThanOrEqual(longest(turn));
      expect(new Set(pauses).size).toBeGreaterThan(25);
    }
  });
});
