import { STATUS_CODES } from 'node:http';
import { HttpException, HttpStatus, Logger } from '@nestjs/common';
import {
  type LockError,
  LockNameError,
  LockShutdownError,
  LockStorageError,
  LockTimeoutError,
} from '../shared/errors.js';

const LOCKED = 423;
const statuses = new WeakMap<object, number>();

/** Notes the status that the `@UseLock` of this error asks for. */
export function rememberStatus(error: unknown, status: number): void {
  if (error instanceof LockTimeoutError) statuses.set(error, status);
}

/**
 * What a lock's error is in HTTP: 423 (or the `status` of its `@UseLock`) for a lock that is held, 503 for a database
 * that cannot be reached and for an application that shuts down, 400 for values that make no lock name. Anything else is a mistake, and stays what it is.
 * The error is the exception's `cause`; the body names the lock, never its holder or the database.
 */
export function toHttpException(error: LockError): HttpException | LockError {
  if (error instanceof LockTimeoutError) {
    return exception(error, statuses.get(error) ?? LOCKED, `The lock '${error.lockName}' is held.`);
  }
  if (error instanceof LockNameError) {
    return exception(error, HttpStatus.BAD_REQUEST, error.message);
  }
  if (error instanceof LockStorageError) {
    return exception(error, HttpStatus.SERVICE_UNAVAILABLE, 'The lock table is not available.');
  }
  if (error instanceof LockShutdownError) {
    return exception(error, HttpStatus.SERVICE_UNAVAILABLE, 'The application is shutting down.');
  }
  return error;
}

function exception(cause: LockError, statusCode: number, message: string): HttpException {
  const body = { statusCode, error: STATUS_CODES[statusCode], code: cause.code, message };
  return new HttpException(body, statusCode, { cause });
}

/** Nest logs what it answers with 500, but no exception with a status of its own. */
export function reportTrouble(error: LockError): void {
  if (error instanceof LockStorageError) new Logger('LockModule').error(error.message, error.stack);
}
