import type { OwnerIdentity } from '../shared/owner.js';
import type { LockScope } from '../shared/types.js';

/**
 * The store as the rest of the library sees it. Storage speaks *take, renew, free, prune*; locks speak
 * *acquire, hold, release*. Times of the database are microseconds since the epoch by the database's clock;
 * `sentAt` and `receivedAt` are milliseconds of this process's monotonic clock.
 */

/** `expires_at` of a local lock: no clock ends it. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/**
 * The longest a statement can still be waiting at the server after its sender gave it up, in milliseconds: the lock
 * waits forced on our sessions (metadata, sentinel row, lock row; one second each), and room for the way there.
 */
export const STATEMENT_MS = 5_000;

/** What this process's own clocks say the database's clock should be at this moment. */
export interface Testimony {
  /** Microseconds since the epoch. */
  readonly expected: number;
  /** How far `expected` may be off, in microseconds: whatever the clocks disagree about. */
  readonly slack: number;
}

/** Asked right before a statement is sent, after its connection was obtained. */
export type Testify = () => Testimony;

/** A key and the token that proves ownership of it. */
export interface Claim {
  readonly key: Buffer;
  readonly token: Buffer;
}

/** A row exactly as it was seen; the guard of a compare-and-swap. */
export interface Seen {
  readonly token: Buffer;
  readonly beat: number;
}

export interface TakeRequest extends Claim {
  readonly scope: LockScope;
  readonly instance: Buffer;
  readonly owner: OwnerIdentity;
  readonly label: string;
  /** Microseconds. */
  readonly lease: number;
  /** The highest sentinel floor this process knows of: an older sentinel is not believed. */
  readonly floor: number;
  /** Take the row over from this state of it, whatever its lease says. */
  readonly seen?: Seen;
}

/** The answer to one take: `fencing` is null when the lock was not granted. */
export interface TakeReply {
  readonly sentAt: number;
  readonly fencing: number | null;
}

export interface ReclaimRequest extends Omit<TakeRequest, 'seen'> {
  readonly fencing: number;
  readonly beat: number;
  readonly acquiredAt: number;
}

export interface LockRow extends Claim {
  readonly instance: Buffer;
  readonly owner: OwnerIdentity;
  readonly label: string;
  readonly lease: number;
  readonly beat: number;
  readonly witnessed: boolean;
  readonly serverId: number;
  readonly fencing: number;
  readonly acquiredAt: number;
  readonly renewedAt: number;
  /** 0 when free, {@link NEVER} for a local lock. */
  readonly expiresAt: number;
}

/** Rows as one SELECT saw them, with the sentinel row beside them. */
export interface Snapshot {
  readonly sentAt: number;
  readonly receivedAt: number;
  /** The database's clock. */
  readonly now: number;
  /** Whether the sentinel's `server_id` has to be that of the answering server, and is. */
  readonly sameServer: boolean;
  readonly sentinel: LockRow | null;
  /** By {@link rowId} of their key. */
  readonly rows: ReadonlyMap<string, LockRow>;
}

/** A snapshot taken after a renewal, and when the renewal itself was sent. */
export interface RenewReply {
  readonly renewSentAt: number;
  readonly snapshot: Snapshot;
}

export interface RecoveryRequest {
  /** The sentinel's token as it was seen; null when there was no sentinel. */
  readonly seen: Buffer | null;
  readonly token: Buffer;
  readonly instance: Buffer;
  readonly owner: OwnerIdentity;
  /** The new floor is at least this. */
  readonly floor: number;
}

/** Keys of maps: one character a byte. */
export function rowId(key: Buffer): string {
  return key.toString('latin1');
}

export interface LockStore {
  /** The longest lease in use on the table, in milliseconds, as far as known. */
  readonly longestLease: number;
  /** Connects, creates or checks the table, and chooses the engine. Idempotent. */
  open(): Promise<void>;
  /** Records a longer lease in the table, before one is granted. */
  ensureLease(ms: number): Promise<void>;
  /** Each request is one statement; an error means that its outcome is unknown. Never retried here. */
  take(requests: readonly TakeRequest[], testify: Testify): Promise<TakeReply[]>;
  /** Writes rows back during a recovery. Never retried here; look afterwards to see what became of them. */
  reclaim(requests: readonly ReclaimRequest[], testify: Testify): Promise<number>;
  look(keys: readonly Buffer[]): Promise<Snapshot>;
  renew(claims: readonly Claim[], beat: number, testify: Testify): Promise<RenewReply>;
  /** For each claim whether its row was held under its token and is free now. */
  free(claims: readonly Claim[]): Promise<boolean[]>;
  /** Frees all of them in one statement; how many were still held. */
  freeAll(claims: readonly Claim[]): Promise<number>;
  /** Frees a row only in exactly the state that was seen. */
  freeSeen(key: Buffer, seen: Seen): Promise<boolean>;
  /** Every row that is not free. */
  scan(): Promise<Snapshot>;
  /** Deletes rows that have been free for at least `freeFor` microseconds, at most `limit`; how many went. */
  prune(freeFor: number, limit: number): Promise<number>;
  /** Closes the table for grants until a recovery has passed. */
  beginRecovery(request: RecoveryRequest, testify: Testify): Promise<void>;
  /** Opens the table again, from exactly the state of the sentinel that was seen. */
  endRecovery(seen: Seen): Promise<void>;
  /** Lets the process end although connections are open. */
  unref(): void;
  close(): Promise<void>;
}
