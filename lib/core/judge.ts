import type { OwnerIdentity } from '../shared/owner.js';
import type { LockHolder, Liveness } from '../shared/types.js';
import { NEVER, rowId, type LockRow, type Seen, type Snapshot } from '../store/lock-store.js';
import type { ClockWitness } from './clock-witness.js';

/** What stands between a request and its lock. Whatever cannot be proved is `held`. */
export type Verdict =
  | { readonly kind: 'free' }
  /** The row can be taken over, from exactly this state of it. */
  | { readonly kind: 'ended'; readonly reason: 'dead' | 'expired'; readonly seen: Seen }
  /** `endsInMs`: when looking again can bring something new at the latest. */
  | { readonly kind: 'held'; readonly holder?: LockHolder; readonly endsInMs: number }
  /** The table grants nothing yet: it lost rows, and their holders may live. */
  | { readonly kind: 'recovering'; readonly endsInMs: number };

export type Probe = (owner: OwnerIdentity) => Liveness;

/** Since when a row has been seen unchanged, by the monotonic clock. */
interface Watch {
  readonly seen: Seen;
  readonly since: number;
}

/** So many rows are watched at once; the oldest watch goes first. */
const WATCHES = 10_000;

/** Decides from one look at a row whether its owner can still hold the lock. */
export class Judge {
  readonly #probe: Probe;
  readonly #witness: ClockWitness;
  readonly #watches = new Map<string, Watch>();

  constructor(probe: Probe, witness: ClockWitness) {
    this.#probe = probe;
    this.#witness = witness;
  }

  judge(row: LockRow | undefined, snapshot: Snapshot): Verdict {
    if (!row || row.expiresAt === 0) return { kind: 'free' };
    const { token, beat } = row;
    if (this.#probe(row.owner) === 'dead') return { kind: 'ended', reason: 'dead', seen: { token, beat } };
    if (row.expiresAt === NEVER) return { kind: 'held', holder: holderOf(row), endsInMs: Infinity };
    const endsInMs = this.leaseEndsIn(row, snapshot);
    if (endsInMs <= 0) return { kind: 'ended', reason: 'expired', seen: { token, beat } };
    return { kind: 'held', holder: holderOf(row), endsInMs };
  }

  /**
   * Milliseconds until a lease may count as ended; 0 when it has.
   *
   * Its end by the database's clock counts when both its writer and this reader believed that clock. Else the row must
   * have been watched unchanged for its whole lease: whoever wrote it last had sent that before the watch began, so its
   * own deadline has passed by then.
   */
  leaseEndsIn(row: LockRow, snapshot: Snapshot): number {
    const watchEndsIn = this.#watchEndsIn(row, snapshot);
    if (!row.witnessed || !this.#witness.believes(snapshot, row.lease)) return watchEndsIn;
    return Math.max(0, Math.min(watchEndsIn, (row.expiresAt - snapshot.now) / 1_000));
  }

  #watchEndsIn(row: LockRow, { sentAt, receivedAt }: Snapshot): number {
    const id = rowId(row.key);
    const watch = this.#watches.get(id);
    if (watch?.seen.beat === row.beat && watch.seen.token.equals(row.token)) {
      return Math.max(0, watch.since + row.lease / 1_000 - sentAt);
    }
    this.#watches.delete(id);
    this.#watches.set(id, { seen: { token: row.token, beat: row.beat }, since: receivedAt });
    if (this.#watches.size > WATCHES) this.#watches.delete(this.#watches.keys().next().value!);
    return row.lease / 1_000;
  }
}

/** A row's owner, for messages. */
export function holderOf({ owner, acquiredAt, label }: LockRow): LockHolder {
  const { host, pid, thread } = owner;
  return { host, pid, thread, label, since: new Date(acquiredAt / 1_000) };
}
