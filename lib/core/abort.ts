/** Resolves after `ms`, or rejects with the signal's reason. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(reasonOf(signal));
    const timer = setTimeout(settle, Math.min(ms, LONGEST_TIMER));
    signal.addEventListener('abort', settle, { once: true });
    function settle() {
      clearTimeout(timer);
      signal.removeEventListener('abort', settle);
      if (signal.aborted) reject(reasonOf(signal));
      else resolve();
    }
  });
}

/** The promise's outcome, or at once the signal's reason. The promise goes on: whoever started it cleans up after it. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(reasonOf(signal));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** setTimeout overflows beyond this, and fires at once; in milliseconds. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** The reason as it was given, an Error or not: it is the caller's. */
function reasonOf(signal: AbortSignal): Error {
  return signal.reason as Error;
}
