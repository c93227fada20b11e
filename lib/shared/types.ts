import type { Duration } from './duration.js';

/** `'global'`: one holder across all hosts. `'local'`: one holder on each host. The two are separate namespaces. */
export type LockScope = 'global' | 'local';

/** How one acquisition is to be made. Whatever is left out comes from the module's options. */
export interface AcquireOptions {
  /** @default 'global' */
  scope?: LockScope | undefined;
  /** How long to wait for a lock that is held: `0` or `false` is exactly one try, `Infinity` waits for ever. @default '10s' */
  wait?: Duration | false | undefined;
  /** How long the lock outlives its last renewal, 100 ms to 24 h. Renewal is automatic, every third of it. @default '30s' */
  lease?: Duration | undefined;
  /** Gives up waiting: the promise rejects with the signal's reason, and no lock is left behind. */
  signal?: AbortSignal | undefined;
  /** A note for people, shown by `list()` and `inspect()`; at most 100 bytes of UTF-8. */
  label?: string | undefined;
  /** Nest in the lock of the `run()` that this is inside of, instead of throwing `LockReentrancyError`. @default false */
  reentrant?: boolean | undefined;
}

/** A lock that was granted. Release it, or let `await using` or `run()` do it. */
export interface HeldLock extends AsyncDisposable {
  readonly name: string;
  readonly scope: LockScope;
  /** Proves ownership of this one acquisition; 32 hexadecimal digits. */
  readonly token: string;
  /** Strictly larger than that of every earlier holder of this lock; constant across renewals; below 2^53. */
  readonly fencingToken: number;
  /** Aborts, with a `LockLostError` as its reason, once this lock is lost: before the lease can end. Never on release. */
  readonly signal: AbortSignal;
  /** Whether the lock is certainly held at this moment. */
  readonly held: boolean;
  /** @throws LockLostError unless the lock is certainly held at this moment. */
  assertHeld(): void;
  /**
   * Gives the lock back. Idempotent: resolves to `true` once, and to `false` when there was nothing left to release.
   * @throws LockStorageError when the database cannot be reached; the release is then repeated in the background.
   */
  release(): Promise<boolean>;
}

/** Who holds a lock, for people and error messages. */
export interface LockHolder {
  /** The owner's host name. */
  readonly host: string;
  readonly pid: number;
  /** The owner's OS thread id; equal to `pid` for the main thread. */
  readonly thread: number;
  /** Held since, by the database's clock. */
  readonly since: Date;
  readonly label: string;
}

/** One lock as it stands in the table. */
export interface LockInfo {
  /** The lock's name; a very long one as its readable beginning and a hash. */
  readonly name: string;
  readonly scope: LockScope;
  readonly token: string;
  readonly fencingToken: number;
  readonly host: string;
  readonly pid: number;
  readonly thread: number;
  /** When the owner started, in the unit of its operating system; together with `thread` it tells reused ids apart. */
  readonly startedAt: string;
  readonly label: string;
  readonly acquiredAt: Date;
  /** When the lease ends unless it is renewed; null for a local lock. */
  readonly expiresAt: Date | null;
  /** Whether the owner lives, as far as this process can prove it. */
  readonly alive: Liveness;
  /** Whether this service instance holds it. */
  readonly mine: boolean;
}

/** What can be proved about an owner. `'unknown'` counts as held. */
export type Liveness = 'alive' | 'dead' | 'unknown';

/** What one sweep of the reaper did. */
export interface ReapReport {
  readonly freed: readonly ReapedLock[];
  /** Rows deleted after having been free for more than a day. */
  readonly pruned: number;
}

/** A lock the reaper freed, and why. */
export interface ReapedLock {
  readonly name: string;
  readonly scope: LockScope;
  readonly token: string;
  readonly host: string;
  readonly pid: number;
  readonly thread: number;
  /** `'dead'`: the owner is proved gone. `'expired'`: its lease ended. */
  readonly reason: 'dead' | 'expired';
}

/** Where the library writes its few log lines. */
export interface LockLogger {
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}
