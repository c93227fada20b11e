import { readable } from './duration.js';
import type { LockHolder } from './types.js';

/** Stable, machine-readable names of the errors below. */
export type LockErrorCode =
  | 'LOCK_TIMEOUT'
  | 'LOCK_LOST'
  | 'LOCK_STORAGE'
  | 'LOCK_REENTRANCY'
  | 'LOCK_NAME'
  | 'LOCK_CONFIG'
  | 'LOCK_SHUTDOWN';

/** The base of every error this library throws. */
export abstract class LockError extends Error {
  abstract readonly code: LockErrorCode;
  /** The lock that was asked for, where the error is about one. */
  readonly lockName: string | undefined;

  constructor(message: string, lockName?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.lockName = lockName;
  }
}

/** The wait ended and the lock was still held (or not granted yet because the table is recovering). */
export class LockTimeoutError extends LockError {
  readonly code = 'LOCK_TIMEOUT';

  constructor(
    lockName: string,
    /** How long this request waited, in milliseconds. */
    readonly waitedMs: number,
    /** Who holds the lock, if that was seen. */
    readonly holder?: LockHolder,
    /** What stands in the way when it is not a holder. */
    obstacle = holder ? `it is held by ${describeHolder(holder)}` : 'it is still held',
  ) {
    super(`Lock '${lockName}' was not granted within ${readable(waitedMs)}: ${obstacle}.`, lockName);
  }
}

/** A holder in words, for messages. */
export function describeHolder(holder: LockHolder): string {
  const label = holder.label && ` (${holder.label})`;
  const thread = holder.thread === holder.pid ? '' : ` thread ${holder.thread}`;
  return `pid ${holder.pid}${thread} on ${holder.host}${label} since ${holder.since.toISOString()}`;
}

/**
 * Why a lock is no longer held.
 * - `expired`: it could not be renewed before its own deadline
 * - `taken`: another owner holds it
 * - `missing`: its row is gone
 * - `freed`: somebody freed it, as `forceRelease()` does
 * - `shutdown`: the application released it while shutting down
 * - `released`: its holder released it
 * - `unconfirmed`: a local lock whose row has not been seen for a lease; it may be confirmed again
 */
export type LockLostReason =
  'expired' | 'taken' | 'missing' | 'freed' | 'shutdown' | 'released' | 'unconfirmed';

/** The lock is not, or not certainly, held any more. */
export class LockLostError extends LockError {
  readonly code = 'LOCK_LOST';

  constructor(
    lockName: string,
    readonly reason: LockLostReason,
    options?: ErrorOptions,
  ) {
    super(`Lock '${lockName}' is not held any more: ${reason}.`, lockName, options);
  }
}

/**
 * What the database's refusal means.
 * - `transient`: a deadlock, a lock wait, a lost connection: it was tried again, and the tries are used up
 * - `read-only`: the server is not the primary, or not any more
 * - `full`: no room for another row
 * - `no-table`: the lock table is not there
 * - `refused`: everything else, a missing privilege for one
 */
export type StorageTrouble = 'transient' | 'read-only' | 'full' | 'no-table' | 'refused';

/** The database did not do what was asked; its own error is the `cause`. Never means that the lock is held by somebody. */
export class LockStorageError extends LockError {
  readonly code = 'LOCK_STORAGE';

  constructor(
    message: string,
    readonly trouble: StorageTrouble,
    options?: ErrorOptions & { lockName?: string },
  ) {
    super(message, options?.lockName, options);
  }
}

/** This async path already holds the lock: waiting for it would never end. */
export class LockReentrancyError extends LockError {
  readonly code = 'LOCK_REENTRANCY';

  constructor(lockName: string) {
    super(
      `Lock '${lockName}' is already held by this async path; nest it inside run(), with { reentrant: true }.`,
      lockName,
    );
  }
}

/** The name is not a string of 1 to 1024 bytes of well-formed text, or a `{placeholder}` in it had no value. */
export class LockNameError extends LockError {
  readonly code = 'LOCK_NAME';
}

/** An option, or the table found in the database, is not usable. */
export class LockConfigError extends LockError {
  readonly code = 'LOCK_CONFIG';
}

/** The application is shutting down: no more locks are granted. */
export class LockShutdownError extends LockError {
  readonly code = 'LOCK_SHUTDOWN';

  constructor(lockName?: string) {
    super('No more locks are granted: the application is shutting down.', lockName);
  }
}
