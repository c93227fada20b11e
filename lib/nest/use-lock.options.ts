import type { LockTimeoutError } from '../shared/errors.js';
import type { AcquireOptions } from '../shared/types.js';

/**
 * The name of the lock of one call.
 * - a string: the name itself
 * - a string with `{placeholders}`: filled from the route's parameters, the arguments' own properties, the body
 * - a function of the method's arguments; its `this` is the instance the method belongs to
 */
export type LockKey<Args extends unknown[] = unknown[]> = string | ((...args: Args) => string);

/** How `@UseLock` acquires its lock and what it does when it cannot. */
export interface UseLockOptions<Args extends unknown[] = unknown[]> extends AcquireOptions {
  /**
   * What a call does when its wait ended and the lock is still held:
   * - `'throw'`: it rejects with `LockTimeoutError`; an HTTP route answers {@link status}
   * - `'skip'`: it resolves to undefined, the method does not run
   * - a function: it resolves to what the function returns for the error and the method's arguments; its `this` is the
   *   instance the method belongs to
   * @default 'throw'
   */
  onBusy?: 'throw' | 'skip' | ((error: LockTimeoutError, ...args: Args) => unknown) | undefined;
  /**
   * How long the lock is held:
   * - `'settled'`: until the method's promise settled, or until its Observable completed, failed or was unsubscribed
   * - `'response'`: in an HTTP route, also until its response was sent or its connection closed, as a `StreamableFile`
   *   or `@Res()` need it; elsewhere the same as `'settled'`
   * @default 'settled'
   */
  holdUntil?: 'settled' | 'response' | undefined;
  /**
   * What an HTTP route answers when the lock is still held.
   * @default 423
   */
  status?: 409 | 423 | 503 | undefined;
  /** The lock service to use: the `instance` of its `LockModule`. The default one if left out. */
  instance?: string | undefined;
}

/** What `@UseLock` returns: a decorator for methods, and for controller classes. */
export interface UseLockDecorator<Args extends unknown[]> {
  (target: abstract new (...args: never[]) => unknown): void;
  <Method extends (...args: never[]) => unknown>(
    target: object,
    property: string | symbol,
    descriptor: TypedPropertyDescriptor<Method> & Accepts<Args, Parameters<Method>>,
  ): void;
}

/** Nothing to object to when a function of `Expected` can be called with `Given`; else a type that nothing has. */
type Accepts<Expected extends unknown[], Given extends unknown[]> = ((...args: Expected) => void) extends (
  ...args: Given
) => void
  ? unknown
  : { 'the lock expects other arguments than the method has': { expected: Expected; given: Given } };
