const FIRST_MS = 5;
const GROWTH = 1.5;
/** The longest pause between two looks: a freed lock is seen after this at the latest. */
export const LONGEST_PAUSE_MS = 100;

/**
 * How long to pause before looking again: growing from a few milliseconds, and jittered by half, so that waiters who
 * came together do not go on together.
 * @param turn 0 for the first pause
 * @param random 0 to 1
 */
export function backOff(turn: number, random: () => number = Math.random): number {
  const ms = Math.min(LONGEST_PAUSE_MS, FIRST_MS * GROWTH ** Math.min(turn, 20));
  return ms * (0.5 + random() / 2);
}
