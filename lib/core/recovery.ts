import { randomBytes } from 'node:crypto';
import type { Clock } from '../shared/clock.js';
import type { LockLogger } from '../shared/types.js';
import type { LockRow, LockStore, Snapshot } from '../store/lock-store.js';
import type { ClockWitness } from './clock-witness.js';
import type { Judge } from './judge.js';
import type { Self } from './self.js';

/** Whether locks are granted. */
export type TableState = { readonly open: true } | { readonly open: false; readonly endsInMs: number };

const OPEN: TableState = { open: true };

/**
 * Neither a restart nor a failover of the database may give a lock two holders. A MEMORY table comes back empty, and a
 * replica promoted after asynchronous replication lacks the last rows. So locks are granted only while the sentinel row
 * is there, belongs to the answering server, is open, and is not older than one seen before. Whoever finds it otherwise
 * closes the table for a recovery: long enough for every holder to write its row back, or to reach its own deadline.
 */
export class Recovery {
  readonly #store: LockStore;
  readonly #judge: Judge;
  readonly #witness: ClockWitness;
  readonly #self: Self;
  readonly #clock: Clock;
  readonly #logger: LockLogger;
  #floor = 0;
  #highest = 0;
  #isClosed = false;

  constructor(
    store: LockStore,
    judge: Judge,
    witness: ClockWitness,
    self: Self,
    clock: Clock,
    logger: LockLogger,
  ) {
    this.#store = store;
    this.#judge = judge;
    this.#witness = witness;
    this.#self = self;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The highest sentinel floor seen: an older sentinel is not believed any more. */
  get floor(): number {
    return this.#floor;
  }

  /** Takes note of a fencing number, so that a recovery starts above it. */
  note(fencing: number): void {
    this.#highest = Math.max(this.#highest, fencing);
  }

  /** Heeds what a look at the table shows: closes a broken one, opens one whose recovery has passed. */
  async heed(snapshot: Snapshot): Promise<TableState> {
    for (const { fencing } of snapshot.rows.values()) this.note(fencing);
    const { sentinel } = snapshot;
    if (!sentinel || this.#isBroken(sentinel, snapshot)) return await this.#begin(sentinel);
    this.#floor = Math.max(this.#floor, sentinel.fencing);
    if (sentinel.expiresAt === 0) return this.#opened();
    const endsInMs = this.#judge.leaseEndsIn(sentinel, snapshot);
    if (endsInMs > 0) return { open: false, endsInMs };
    await this.#store.endRecovery(sentinel);
    return this.#opened();
  }

  #isBroken(sentinel: LockRow, { sameServer }: Snapshot): boolean {
    return !sameServer || sentinel.fencing < this.#floor;
  }

  #opened(): TableState {
    if (this.#isClosed) this.#logger.log('The lock table has recovered: locks are granted again.');
    this.#isClosed = false;
    return OPEN;
  }

  async #begin(sentinel: LockRow | null): Promise<TableState> {
    if (!this.#isClosed) {
      const sign = sentinel
        ? 'it shows an older state, or that of another server'
        : 'its sentinel row is missing';
      this.#logger.warn(
        `The lock table lost rows (${sign}): it recovers, and grants nothing until that is over.`,
      );
    }
    this.#isClosed = true;
    const { instance, owner } = this.#self;
    const floor = Math.max(this.#floor + 1, this.#clock.wall() * 1_000, this.#highest);
    const request = {
      seen: sentinel?.token ?? null,
      token: randomBytes(16),
      instance,
      owner,
      floor: Math.round(floor),
    };
    await this.#store.beginRecovery(request, this.#witness.testify);
    return { open: false, endsInMs: this.#store.longestLease };
  }
}
