import { systemClock, type Clock } from '../shared/clock.js';
import { LONGEST_TIMER } from './abort.js';

interface Waiter {
  enter(): void;
}

/**
 * One line per lock name in this process, first come, first served. Whoever is at its head talks to the database, and
 * stays there while holding the lock: one process never competes with itself.
 */
export class Gates {
  /** Those behind the head; a name is here while its head is. */
  readonly #lines = new Map<string, Waiter[]>();
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Whether somebody is at the head of a line. */
  isTaken(id: string): boolean {
    return this.#lines.has(id);
  }

  /**
   * Waits for the head of the line.
   * @returns the function that leaves it again, or null when the wait ended first
   * @throws the signal's reason
   */
  async enter(id: string, waitMs: number, signal: AbortSignal): Promise<(() => void) | null> {
    const line = this.#lines.get(id);
    if (!line) this.#lines.set(id, []);
    else if (!(await this.#stand(line, waitMs, signal))) return null;
    return () => this.#leave(id);
  }

  async #stand(line: Waiter[], waitMs: number, signal: AbortSignal): Promise<boolean> {
    if (waitMs <= 0) return false;
    const stopped = new AbortController();
    let entered = false;
    const waiter: Waiter = {
      enter: () => {
        entered = true;
        stopped.abort();
      },
    };
    line.push(waiter);
    await this.#untilAborted([signal, stopped.signal], waitMs);
    if (entered) return true;
    line.splice(line.indexOf(waiter), 1);
    signal.throwIfAborted();
    return false;
  }

  /** Timers are short of breath: they fire early by a little, and cannot be set for longer than some weeks. */
  async #untilAborted(signals: readonly AbortSignal[], ms: number): Promise<void> {
    const until = this.#clock.monotonic() + ms;
    for (
      let rest = ms;
      rest > 0 && !signals.some(({ aborted }) => aborted);
      rest = until - this.#clock.monotonic()
    ) {
      await abortedOrAfter(signals, Math.min(Math.ceil(rest), LONGEST_TIMER));
    }
  }

  #leave(id: string): void {
    const next = this.#lines.get(id)?.shift();
    if (next) next.enter();
    else this.#lines.delete(id);
  }
}

/** Resolves when one of the signals aborts, or after the time. */
function abortedOrAfter(signals: readonly AbortSignal[], ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(settle, ms);
    for (const signal of signals) signal.addEventListener('abort', settle, { once: true });
    if (signals.some(({ aborted }) => aborted)) settle();
    function settle() {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', settle);
      resolve();
    }
  });
}
