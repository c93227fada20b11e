import { resolveAcquire, type AcquireDefaults, type ResolvedAcquire } from '../shared/acquire-options.js';
import type { Clock } from '../shared/clock.js';
import { readable } from '../shared/duration.js';
import { LockReentrancyError, LockTimeoutError, type LockLostError } from '../shared/errors.js';
import { checkName, keyOf } from '../shared/lock-name.js';
import type { AcquireOptions, HeldLock } from '../shared/types.js';
import type { Obstacle } from './acquirer.js';
import { AsyncPath } from './async-path.js';
import { GrantedLock } from './granted-lock.js';
import type { Hold } from './hold.js';
import type { Holds } from './holds.js';

/** A function that runs under a lock. */
export type Work<T> = (lock: HeldLock) => T | Promise<T>;

/** A request that has been checked. */
export interface CheckedRequest extends ResolvedAcquire {
  readonly name: string;
  readonly key: Buffer;
  readonly id: string;
}

/** The verbs of the public API. Checks what is asked for, and knows which async path asks. */
export class LockManager {
  readonly #holds: Holds;
  readonly #defaults: AcquireDefaults;
  readonly #hostKey: Buffer;
  readonly #clock: Clock;
  readonly #path = new AsyncPath();
  readonly #runs = new Set<Promise<unknown>>();

  constructor(holds: Holds, defaults: AcquireDefaults, hostKey: Buffer, clock: Clock) {
    this.#holds = holds;
    this.#defaults = defaults;
    this.#hostKey = hostKey;
    this.#clock = clock;
  }

  /** @throws LockTimeoutError when the wait ends */
  async acquire(name: string, options: AcquireOptions = {}): Promise<HeldLock> {
    const request = this.#check(name, options);
    const nested = this.#nested(request);
    if (nested) return this.#handle(nested);
    const step = this.#path.begin();
    step.hold = await this.#wait(request);
    return this.#handle(step.hold);
  }

  /** One try. */
  async tryAcquire(name: string, options: AcquireOptions = {}): Promise<HeldLock | null> {
    const request = { ...this.#check(name, options), waitMs: 0 };
    const nested = this.#nested(request);
    if (nested) return this.#handle(nested);
    const step = this.#path.begin();
    const outcome = await this.#holds.obtain(request);
    if (!('hold' in outcome)) return null;
    step.hold = outcome.hold;
    return this.#handle(outcome.hold);
  }

  run<T>(name: string, work: Work<T>): Promise<T>;
  run<T>(name: string, options: AcquireOptions, work: Work<T>): Promise<T>;
  run<T>(name: string, ...rest: [Work<T>] | [AcquireOptions, Work<T>]): Promise<T> {
    const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest;
    const running = this.#run(name, options, work);
    this.#runs.add(running);
    const done = () => void this.#runs.delete(running);
    running.then(done, done);
    return running;
  }

  /** Refuses new requests, calls off those that wait, and lets running work finish; resolves after `ms` at the latest. */
  async drain(ms: number): Promise<void> {
    this.#holds.refuse();
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
    await Promise.race([this.finished(), timeout]);
    clearTimeout(timer);
  }

  /** Whether functions of `run()` are running. */
  get isWorking(): boolean {
    return this.#runs.size > 0;
  }

  /** Resolves when no function of `run()` is running. */
  async finished(): Promise<void> {
    await Promise.allSettled(this.#runs);
  }

  async #run<T>(name: string, options: AcquireOptions, work: Work<T>): Promise<T> {
    if (typeof work !== 'function')
      throw new TypeError(`Expected a function to run under the lock and got ${typeof work}.`);
    const request = this.#check(name, options);
    const hold = this.#nested(request) ?? (await this.#wait(request));
    return await this.#runUnder(hold, work);
  }

  async #runUnder<T>(hold: Hold, work: Work<T>): Promise<T> {
    const lock = this.#handle(hold);
    hold.runs += 1;
    let result: T;
    try {
      result = await this.#path.run(hold, () => work(lock));
    } catch (error) {
      await this.#giveBack(hold, lock);
      throw error;
    } finally {
      hold.runs -= 1;
    }
    const loss = await this.#giveBack(hold, lock);
    if (loss) throw loss;
    return result;
  }

  /** Ends a run. A release that fails replaces neither its result nor its error; a lock that was lost is told. */
  async #giveBack(hold: Hold, lock: HeldLock): Promise<LockLostError | undefined> {
    const { loss, reason } = hold;
    if (loss === 'released') return undefined;
    const isReleased = await lock
      .release()
      .catch((error: unknown) => this.#holds.onReleaseFailed(hold, error));
    if (isReleased) return undefined;
    return hold.lost(reason ?? loss ?? (await this.#holds.whyGone(hold)));
  }

  #check(name: string, options: AcquireOptions): CheckedRequest {
    checkName(name);
    const resolved = resolveAcquire(options, this.#defaults);
    const key = keyOf(name, resolved.scope, this.#hostKey);
    return { ...resolved, name, key, id: key.toString('latin1') };
  }

  /** The lock that the running path holds already, for one more handle. @throws LockReentrancyError */
  #nested({ id, name, reentrant }: CheckedRequest): Hold | undefined {
    const hold = this.#path.holding(id);
    if (!hold) return undefined;
    if (!reentrant || !this.#path.isInside(hold)) throw new LockReentrancyError(name);
    hold.handles += 1;
    return hold;
  }

  #handle(hold: Hold): HeldLock {
    return new GrantedLock(hold, (it) => this.#holds.release(it));
  }

  async #wait(request: CheckedRequest): Promise<Hold> {
    const startedAt = this.#clock.monotonic();
    const outcome = await this.#holds.obtain(request);
    if ('hold' in outcome) return outcome.hold;
    throw timeout(request.name, this.#clock.monotonic() - startedAt, outcome.obstacle);
  }
}

function timeout(name: string, waitedMs: number, obstacle: Obstacle): LockTimeoutError {
  if (obstacle.kind === 'held') return new LockTimeoutError(name, waitedMs, obstacle.holder);
  const rest = Number.isFinite(obstacle.endsInMs) ? ` for about ${readable(obstacle.endsInMs)} more` : '';
  return new LockTimeoutError(
    name,
    waitedMs,
    undefined,
    `the lock table recovers from a restart of the database${rest}`,
  );
}
