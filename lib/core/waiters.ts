/** A request that can still be called off. */
export interface Waiter {
  readonly signal: AbortSignal;
  /** To be called when the request has ended, whichever way. */
  done(): void;
}

/** The requests on their way: each can be called off by its caller's signal, and all of them at once. */
export class Waiters {
  readonly #waiting = new Set<AbortController>();

  add(signal: AbortSignal | undefined): Waiter {
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    this.#waiting.add(controller);
    const done = () => {
      signal?.removeEventListener('abort', abort);
      this.#waiting.delete(controller);
    };
    return { signal: controller.signal, done };
  }

  abortAll(reason: Error): void {
    for (const controller of this.#waiting) controller.abort(reason);
  }
}
