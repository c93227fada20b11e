import { Injectable } from '@nestjs/common';
import type { Work } from '../core/lock-manager.js';
import type { ListFilter } from '../core/lock-table.js';
import type { AcquireOptions, HeldLock, LockInfo, LockScope, ReapReport } from '../shared/types.js';
import type { LockRuntime } from './compose.js';

/**
 * Acquires, runs under and looks at locks. Injected by its class; a named instance by `@InjectLock(name)`.
 * Every method may throw `LockNameError` and `LockConfigError` (before any SQL) and `LockStorageError`.
 */
@Injectable()
export class LockService {
  readonly #runtime: Pick<LockRuntime, 'locks' | 'table' | 'reaper'>;

  constructor(runtime: Pick<LockRuntime, 'locks' | 'table' | 'reaper'>) {
    this.#runtime = runtime;
  }

  /**
   * Waits for the lock, `options.wait` at most, and returns it held. Release it, or use `await using`. From here on the
   * caller's async path holds it, with everything that it starts later; `run()` keeps that to its function.
   * @throws LockTimeoutError when the wait ended and the lock was still held
   * @throws LockReentrancyError when this async path holds the lock already
   * @throws LockShutdownError once the application is shutting down
   */
  acquire(name: string, options?: AcquireOptions): Promise<HeldLock> {
    return this.#runtime.locks.acquire(name, options);
  }

  /**
   * Tries exactly once: the held lock, or null when somebody else holds it.
   * @throws LockReentrancyError when this async path holds the lock already
   * @throws LockShutdownError once the application is shutting down
   */
  tryAcquire(name: string, options?: AcquireOptions): Promise<HeldLock | null> {
    return this.#runtime.locks.tryAcquire(name, options);
  }

  /**
   * Acquires the lock, runs `work` with it and releases it, whatever the outcome. Resolves to what `work` returns;
   * an error of `work` arrives as it is.
   * @throws LockLostError when the lock was lost meanwhile, even if `work` succeeded
   * @throws LockTimeoutError, LockReentrancyError, LockShutdownError as `acquire()` does; `work` has not run then
   */
  run<T>(name: string, work: (lock: HeldLock) => T | Promise<T>): Promise<T>;
  run<T>(name: string, options: AcquireOptions, work: (lock: HeldLock) => T | Promise<T>): Promise<T>;
  run<T>(name: string, ...rest: RunArguments<T>): Promise<T> {
    const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest;
    return this.#runtime.locks.run(name, options, work);
  }

  /** The locks that are held now, by anybody; free and expired ones are left out. */
  list(filter?: ListFilter): Promise<LockInfo[]> {
    return this.#runtime.table.list(filter);
  }

  /** Who holds one lock; null when it is free. `scope` is `'global'` by default. */
  inspect(name: string, options?: { scope?: LockScope }): Promise<LockInfo | null> {
    return this.#runtime.table.inspect(name, options);
  }

  /**
   * Frees somebody else's lock, provided that its holder is still the one with this token, as `inspect()` shows it:
   * never a newer holder's lock. Its holder goes on working until it looks again. Resolves to whether it was freed.
   */
  forceRelease(name: string, options: { scope?: LockScope; token: string }): Promise<boolean> {
    return this.#runtime.table.forceRelease(name, options);
  }

  /** Frees at once what dead owners of this host held, as the timed reaper does, and says what it did. */
  reap(): Promise<ReapReport> {
    return this.#runtime.reaper.sweep();
  }
}

type RunArguments<T> = [work: Work<T>] | [options: AcquireOptions, work: Work<T>];
