import { LockStorageError, type StorageTrouble } from '../shared/errors.js';

/** What mysql2 tells of an error. Some fatal ones carry neither code nor errno. */
interface DriverError {
  readonly message?: string;
  readonly code?: string;
  readonly errno?: number;
  readonly sqlState?: string;
}

const TRANSIENT = new Set([
  1020, // record changed since last read (MariaDB, snapshot isolation)
  1040, // too many connections
  1047, // cluster node not ready
  1053, // server shutdown in progress
  1180, // error during commit: somebody else won on another member
  1203, // too many user connections
  1205, // lock wait timeout
  1213, // deadlock
  1317, // query interrupted
  1927, // connection was killed
  2006, // server has gone away
  2013, // connection lost during a query
  3101, // rolled back by another member's transaction
  4031, // disconnected for inactivity
]);
const READ_ONLY = new Set([
  1123, // the member is not online in its replication group
  1290, // --read-only, --super-read-only
  1792, // read-only transaction
  1836, // read-only mode
  3100, // refused by a replication hook
  6400, // member is not the primary
]);
const INTERRUPTED = 1317;
const FULL = 1114;
const NO_TABLE = 1146;

/**
 * What an error of the driver means; by its number alone, since messages are translated.
 * An error without a number never came from the server: the connection broke.
 */
export function troubleOf(error: unknown): StorageTrouble {
  const { errno, sqlState } = error as DriverError;
  if (errno === undefined || sqlState === undefined) return isOurBug(error) ? 'refused' : 'transient';
  if (TRANSIENT.has(errno)) return 'transient';
  if (READ_ONLY.has(errno)) return 'read-only';
  if (errno === FULL) return 'full';
  return errno === NO_TABLE ? 'no-table' : 'refused';
}

/** Whether the connection can be used after this error: only when the server itself answered, and is still there. */
export function connectionSurvives(error: unknown): boolean {
  const { errno, sqlState } = error as DriverError;
  return errno !== undefined && sqlState !== undefined && ![1053, 1927, 2006, 2013, 4031].includes(errno);
}

/**
 * Whether a statement that failed so has certainly changed nothing: the server answered, and is still there. An
 * interrupted write to a MEMORY table may be done all the same.
 */
export function changedNothing({ cause }: LockStorageError): boolean {
  return cause !== undefined && connectionSurvives(cause) && (cause as DriverError).errno !== INTERRUPTED;
}

/** Wraps a driver's error; one that is wrapped already stays as it is. */
export function storageError(error: unknown): LockStorageError {
  if (error instanceof LockStorageError) return error;
  const { message, code } = error as DriverError;
  const text = `The lock table could not be used: ${message || code || String(error)}`;
  return new LockStorageError(text, troubleOf(error), { cause: error });
}

function isOurBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}
