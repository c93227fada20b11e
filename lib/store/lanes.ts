/**
 * `take`: requests for locks. `upkeep`: whatever keeps or ends a lock that is held. Upkeep never queues behind takes:
 * a renewal that waits for fifty acquisitions would lose its lock.
 */
export type Lane = 'take' | 'upkeep';

/** Hands out a fixed number of places; takes may fill all but one of them, and upkeep goes first. */
export class Lanes {
  readonly #places: Record<Lane, number>;
  readonly #waiting: Record<Lane, (() => void)[]> = { take: [], upkeep: [] };
  #taken = 0;

  constructor(size: number) {
    this.#places = { upkeep: size, take: Math.max(1, size - 1) };
  }

  /** Resolves, in turn, to the function that leaves the place again. */
  async enter(lane: Lane): Promise<() => void> {
    if (this.#taken >= this.#places[lane])
      await new Promise<void>((resolve) => this.#waiting[lane].push(resolve));
    else this.#taken += 1;
    return () => this.#leave();
  }

  /** The place is handed over rather than given back, so that nobody slips in between. */
  #leave(): void {
    this.#taken -= 1;
    const next = this.#next();
    if (!next) return;
    this.#taken += 1;
    next();
  }

  #next(): (() => void) | undefined {
    const lane = this.#waiting.upkeep.length > 0 ? 'upkeep' : 'take';
    return this.#taken < this.#places[lane] ? this.#waiting[lane].shift() : undefined;
  }
}
