import { setTimeout as sleep } from 'node:timers/promises';
import { LockStorageError } from './errors.js';

const TRIES = 5;
const FIRST_DELAY_MS = 10;

/**
 * Repeats an operation that may be repeated, while its trouble is transient: a bounded number of times, with growing,
 * jittered pauses. The last error is thrown as it is.
 */
export async function retrying<T>(operation: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await operation();
    } catch (error) {
      if (!(error instanceof LockStorageError) || !isWorthRetrying(error) || attempt === TRIES) throw error;
      await sleep(FIRST_DELAY_MS * 2 ** attempt * (0.5 + Math.random()), undefined, { ref: false });
    }
  }
}

/** A read-only answer may come from a former primary, whose successor the next connection finds. */
function isWorthRetrying({ trouble }: LockStorageError): boolean {
  return trouble === 'transient' || trouble === 'read-only';
}
