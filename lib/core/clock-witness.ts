import type { Clock } from '../shared/clock.js';
import type { Snapshot, Testimony } from '../store/lock-store.js';

/** How fast two healthy clocks may drift apart, in microseconds a millisecond: 1000 ppm, twice the fastest slew of NTP. */
const DRIFT = 1;

interface Jump {
  /** Monotonic milliseconds. */
  readonly at: number;
  /** Microseconds. */
  readonly by: number;
}

/** The part of a snapshot that tells of the clock; the sentinel's lease covers the longest one on the table. */
type Heard = Pick<Snapshot, 'sentAt' | 'receivedAt' | 'now' | 'sentinel'>;

/**
 * What this process's own clocks say about the database's. They never set a time there, but testify whether it may be
 * believed: a step of the database's clock would else end every lease at once.
 *
 * Two clocks testify: the wall clock, and, once the database's clock was seen, the monotonic one counting on from there.
 * Whatever they disagree about is slack, and so is each jump that was seen, for as long as a lease stamped before it
 * can last.
 */
export class ClockWitness {
  readonly #clock: Clock;
  readonly #ownLeaseMs: () => number;
  /** The database's clock minus the monotonic one lies between these, in microseconds. */
  #low = -Infinity;
  #high = Infinity;
  #heardAt: number | undefined;
  #jumps: Jump[] = [];

  /** @param ownLeaseMs the longest lease that this service grants; those of others are told by the sentinel */
  constructor(clock: Clock, ownLeaseMs: () => number) {
    this.#clock = clock;
    this.#ownLeaseMs = ownLeaseMs;
  }

  /** Takes note of the database's clock; it was read somewhere between sending and receiving. */
  hear({ sentAt, receivedAt, now, sentinel }: Heard): void {
    const low = now - receivedAt * 1_000;
    const high = now - sentAt * 1_000;
    const drift = this.#driftUntil(receivedAt);
    const jump = Math.max(low - (this.#high + drift), this.#low - drift - high);
    if (jump > 0 && this.#heardAt !== undefined) this.#jumps.push({ at: receivedAt, by: jump });
    this.#low = jump > 0 ? low : Math.max(low, this.#low - drift);
    this.#high = jump > 0 ? high : Math.min(high, this.#high + drift);
    this.#heardAt = receivedAt;
    const memoryMs = Math.max(this.#ownLeaseMs(), (sentinel?.lease ?? 0) / 1_000);
    this.#jumps = this.#jumps.filter(({ at }) => at > receivedAt - memoryMs);
  }

  /** What the database's clock should say now. */
  readonly testify = (): Testimony => this.#testifyFor(this.#clock.monotonic());

  /**
   * Whether a reading of the database's clock may be believed about the end of a lease.
   * @param lease microseconds
   */
  believes({ now, sentAt }: Pick<Snapshot, 'now' | 'sentAt'>, lease: number): boolean {
    const { expected, slack } = this.#testifyFor(sentAt);
    return Math.abs(now - expected) + slack <= Math.floor(lease / 30);
  }

  #testifyFor(monotonic: number): Testimony {
    const ago = this.#clock.monotonic() - monotonic;
    const wall = Math.round((this.#clock.wall() - ago) * 1_000);
    if (this.#heardAt === undefined) return { expected: wall, slack: 0 };
    const expected = Math.round(monotonic * 1_000 + (this.#low + this.#high) / 2);
    const uncertainty = (this.#high - this.#low) / 2 + this.#driftUntil(monotonic);
    const jumps = this.#jumps.reduce((sum, { by }) => sum + by, 0);
    return { expected, slack: Math.ceil(uncertainty + Math.abs(wall - expected) + jumps) };
  }

  #driftUntil(monotonic: number): number {
    return this.#heardAt === undefined ? 0 : Math.abs(monotonic - this.#heardAt) * DRIFT;
  }
}
