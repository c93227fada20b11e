import type { Clock } from '../shared/clock.js';
import type { LockLogger } from '../shared/types.js';
import { rowId, type LockRow, type LockStore, type Snapshot } from '../store/lock-store.js';
import type { ClockWitness } from './clock-witness.js';
import type { Hold } from './hold.js';
import type { Recovery } from './recovery.js';
import type { Self } from './self.js';

/** So many locks are renewed in one statement. */
const BATCH = 500;

/** Renews every held lock each third of its lease, several in one statement, and tells holders what they lost. */
export class LeaseKeeper {
  readonly #store: LockStore;
  readonly #witness: ClockWitness;
  readonly #recovery: Recovery;
  readonly #self: Self;
  readonly #clock: Clock;
  readonly #logger: LockLogger;
  readonly #holds = new Set<Hold>();
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;
  #isRenewing = false;
  #beat = 0;

  constructor(
    store: LockStore,
    witness: ClockWitness,
    recovery: Recovery,
    self: Self,
    clock: Clock,
    logger: LockLogger,
  ) {
    this.#store = store;
    this.#witness = witness;
    this.#recovery = recovery;
    this.#self = self;
    this.#clock = clock;
    this.#logger = logger;
  }

  get holds(): ReadonlySet<Hold> {
    return this.#holds;
  }

  add(hold: Hold): void {
    this.#holds.add(hold);
    this.#wakeAt(Math.min(hold.dueAt, hold.deadline));
  }

  remove(hold: Hold): void {
    this.#holds.delete(hold);
    if (this.#holds.size === 0) this.#sleep();
  }

  /** One timer for all; it never keeps the process alive. */
  #wakeAt(at: number): void {
    if (at >= this.#wakesAt) return;
    clearTimeout(this.#timer);
    this.#wakesAt = at;
    this.#timer = setTimeout(() => this.#wake(), Math.max(1, at - this.#clock.monotonic()));
    this.#timer.unref();
  }

  #sleep(): void {
    clearTimeout(this.#timer);
    this.#wakesAt = Infinity;
  }

  #wake(): void {
    this.#wakesAt = Infinity;
    // Asking is enough: a hold whose deadline has passed ends by itself, and leaves.
    for (const hold of this.#holds) void hold.loss;
    if (!this.#isRenewing) void this.#renewDue();
    this.#arm();
  }

  #arm(): void {
    const now = this.#clock.monotonic();
    for (const { dueAt, deadline } of this.#holds) {
      // A passed deadline of a local lock needs no waking; a due renewal that is under way arms again when it ends.
      if (deadline > now) this.#wakeAt(deadline);
      if (!this.#isRenewing || dueAt > now) this.#wakeAt(dueAt);
    }
  }

  async #renewDue(): Promise<void> {
    const due = this.#due();
    if (due.length === 0) return;
    this.#isRenewing = true;
    try {
      for (let start = 0; start < due.length; start += BATCH)
        await this.#renew(due.slice(start, start + BATCH));
    } catch (error) {
      this.#logger.warn(`Locks could not be renewed: ${(error as Error).message}`);
    } finally {
      this.#isRenewing = false;
      this.#arm();
    }
  }

  /** Whatever is due, and what will be soon: one statement then does for all. A failed renewal is due again early. */
  #due(): Hold[] {
    const now = this.#clock.monotonic();
    const due = [...this.#holds].filter(({ dueAt, grant }) => dueAt <= now + grant.leaseMs / 12);
    if (!due.some(({ dueAt }) => dueAt <= now + 1)) return [];
    for (const hold of due) hold.dueAt = now + hold.grant.leaseMs / 12;
    return due;
  }

  async #renew(holds: readonly Hold[]): Promise<void> {
    const beat = (this.#beat += 1);
    const claims = holds.map(({ grant }) => grant);
    const testify = () => this.#sending(holds, beat);
    const { snapshot } = await this.#store.renew(claims, beat, testify);
    const lost = await this.#settle(holds, snapshot);
    if (lost.length > 0) await this.#reclaim(lost);
    for (const hold of holds) hold.dueAt = this.#clock.monotonic() + hold.grant.leaseMs / 3;
  }

  #sending(holds: readonly Hold[], beat: number) {
    const sentAt = this.#clock.monotonic();
    for (const hold of holds) hold.sending(beat, sentAt);
    return this.#witness.testify();
  }

  /** Confirms and loses locks by what their rows say. @returns those whose rows a recovery lets them write back */
  async #settle(holds: readonly Hold[], snapshot: Snapshot): Promise<Hold[]> {
    this.#witness.hear(snapshot);
    const { open } = await this.#recovery.heed(snapshot);
    const missing: Hold[] = [];
    for (const hold of holds) {
      const row = snapshot.rows.get(rowId(hold.grant.key));
      if (row && isMine(row, hold)) hold.confirm(row.beat);
      else if (!open && canReclaim(row, hold)) missing.push(hold);
      else hold.lose(reasonOf(hold, row));
    }
    return missing;
  }

  async #reclaim(holds: readonly Hold[]): Promise<void> {
    const beat = (this.#beat += 1);
    const requests = holds.map(({ grant }) => ({
      ...grant,
      ...this.#self,
      beat,
      lease: grant.leaseMs * 1_000,
      acquiredAt: grant.fencing,
      floor: this.#recovery.floor,
    }));
    for (const hold of holds) hold.wasReclaimed = true;
    await this.#store.reclaim(requests, () => this.#sending(holds, beat));
    const snapshot = await this.#store.look(holds.map(({ grant }) => grant.key));
    await this.#settle(holds, snapshot);
  }
}

function isMine(row: LockRow, { grant }: Hold): boolean {
  return row.token.equals(grant.token) && row.expiresAt > 0;
}

/** Over a missing row, or one from before this holder; and only while its own deadline has not passed. */
function canReclaim(row: LockRow | undefined, hold: Hold): boolean {
  return hold.loss === undefined && (!row || row.fencing < hold.grant.fencing);
}

/** What became of a lock whose row says that it is not held. */
export function reasonOf({ grant }: Hold, row: LockRow | undefined): 'missing' | 'freed' | 'taken' {
  if (!row) return 'missing';
  return row.token.equals(grant.token) ? 'freed' : 'taken';
}
