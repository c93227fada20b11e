import { LockLostError, type LockLostReason } from '../shared/errors.js';
import type { LockScope } from '../shared/types.js';
import type { Clock } from '../shared/clock.js';
import { rowId, type Claim } from '../store/lock-store.js';

/** How much earlier than the lease its holder gives up, in milliseconds: two tolerated errors of the clocks fit into it. */
export function marginOf(leaseMs: number): number {
  return Math.max(50, leaseMs / 10);
}

/** What a granted request becomes. */
export interface Grant extends Claim {
  readonly name: string;
  readonly scope: LockScope;
  readonly label: string;
  readonly leaseMs: number;
  readonly fencing: number;
  /** Monotonic milliseconds, before the request was sent. */
  readonly sentAt: number;
}

export type HoldState = 'held' | 'lost' | 'released';

/** One acquisition from its grant to its end: the truth behind every handle of it. */
export class Hold {
  readonly grant: Grant;
  readonly id: string;
  readonly tokenHex: string;
  /** How many handles have it: more than one only when nested. */
  handles = 1;
  /** A reclaim was sent for it, which may still be on its way when the lock is released. */
  wasReclaimed = false;
  /** How many functions of `run()` are running under it. */
  runs = 0;
  /** When the next renewal is due, in monotonic milliseconds. */
  dueAt: number;

  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #onEnd: (state: HoldState) => void;
  /** When each renewal was sent whose arrival has not been seen yet, by its number. */
  readonly #beats = new Map<number, number>();
  #deadline: number;
  #state: HoldState = 'held';
  #reason: LockLostReason | undefined;

  /** @param onEnd called once, when the lock has been lost or released */
  constructor(grant: Grant, clock: Clock, onEnd: (state: HoldState) => void) {
    this.grant = grant;
    this.id = rowId(grant.key);
    this.tokenHex = grant.token.toString('hex');
    this.dueAt = grant.sentAt + grant.leaseMs / 3;
    this.#clock = clock;
    this.#onEnd = onEnd;
    this.#deadline = grant.sentAt + grant.leaseMs - marginOf(grant.leaseMs);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get state(): HoldState {
    return this.#state;
  }

  /** When the lock is lost, or a local one unconfirmed, unless it is renewed; monotonic milliseconds. */
  get deadline(): number {
    return this.#deadline;
  }

  /** Why the lock is not certainly held; undefined while it is. A passed deadline counts without any timer's help. */
  get loss(): LockLostReason | undefined {
    if (this.#state !== 'held') return this.#reason;
    if (this.#clock.monotonic() < this.#deadline) return undefined;
    // A local lock is held as long as its process lives; it only cannot know about a restart that it slept through.
    if (this.grant.scope === 'local') return 'unconfirmed';
    this.lose('expired');
    return 'expired';
  }

  /** Why the lock ended, once it has. */
  get reason(): LockLostReason | undefined {
    return this.#reason;
  }

  lost(reason: LockLostReason): LockLostError {
    return new LockLostError(this.grant.name, reason);
  }

  /** Takes note that a renewal is about to be sent. */
  sending(beat: number, sentAt: number): void {
    // Several statements may carry one beat: what was sent first is true of all of them.
    if (!this.#beats.has(beat)) this.#beats.set(beat, sentAt);
  }

  /**
   * The row was read back with this renewal on it: the deadline moves to when that one was sent. That the row still
   * carries the token proves nothing about any other renewal.
   */
  confirm(beat: number): void {
    const sentAt = this.#beats.get(beat);
    if (sentAt === undefined) return;
    const { leaseMs } = this.grant;
    this.#deadline = Math.max(this.#deadline, sentAt + leaseMs - marginOf(leaseMs));
    for (const older of this.#beats.keys()) if (older <= beat) this.#beats.delete(older);
  }

  /** The lock is held no more, and its holder is told. */
  lose(reason: LockLostReason): void {
    if (!this.#end('lost', reason)) return;
    this.#abort.abort(this.lost(reason));
  }

  /** Its holder gave it back. @returns false when it was lost or released before */
  release(): boolean {
    return this.#end('released', 'released');
  }

  #end(state: HoldState, reason: LockLostReason): boolean {
    if (this.#state !== 'held') return false;
    this.#state = state;
    this.#reason = reason;
    this.#beats.clear();
    this.#onEnd(state);
    return true;
  }
}
