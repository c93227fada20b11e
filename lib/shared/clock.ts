/** The application's two clocks, in milliseconds. The monotonic one measures; the wall clock only testifies. */
export interface Clock {
  monotonic(): number;
  wall(): number;
}

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  wall: () => Date.now(),
};
