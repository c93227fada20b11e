import { LockTimeoutError, type AcquireOptions, type HeldLock, type LockInfo } from '../../lib/index.js';
import type { LockRuntime } from '../../lib/nest/lock-runtime.js';

/** Stands in for the core until it is there: held names in a Set, one try only. */
export class FakeRuntime implements LockRuntime {
  readonly held = new Map<string, HeldLock>();
  readonly events: string[] = [];
  readonly signals: (AbortSignal | undefined)[] = [];
  failure: Error | undefined;

  readonly locks: LockRuntime['locks'] = {
    acquire: async (name, options = {}) => this.take(name, options),
    tryAcquire: async (name, options = {}) => (this.held.has(name) ? null : this.take(name, options)),
    run: async (name: string, ...rest: unknown[]) => {
      const work = rest.at(-1) as (lock: HeldLock) => unknown;
      const lock = await this.take(name, rest.length > 1 ? (rest[0] as AcquireOptions) : {});
      try {
        const value = await work(lock);
        lock.assertHeld();
        return value as never;
      } finally {
        await lock.release();
      }
    },
    list: async () => [...this.held.keys()].map((name) => ({ name }) as LockInfo),
    inspect: async () => null,
    forceRelease: async () => false,
  };
  readonly reaper = {
    sweep: async () => ({ freed: [], pruned: 0 }),
    start: () => void this.events.push('reaper.start'),
    stop: async () => void this.events.push('reaper.stop'),
  };
  open = async () => void this.events.push('open');
  drain = async () => void this.events.push('drain');
  close = async () => void this.events.push('close');

  private async take(name: string, options: AcquireOptions): Promise<HeldLock> {
    await Promise.resolve();
    this.signals.push(options.signal);
    if (this.failure) throw this.failure;
    options.signal?.throwIfAborted();
    if (this.held.has(name)) throw new LockTimeoutError(name, 0);
    const lost = new AbortController();
    const release = async () => this.held.get(name) === lock && this.held.delete(name);
    const lock: HeldLock & { lost: AbortController } = {
      name,
      scope: options.scope ?? 'global',
      token: '0'.repeat(32),
      fencingToken: 1,
      signal: lost.signal,
      get held() {
        return !lost.signal.aborted;
      },
      assertHeld: () => lost.signal.throwIfAborted(),
      release,
      [Symbol.asyncDispose]: async () => void (await release()),
      lost,
    };
    this.held.set(name, lock);
    this.events.push(`take ${name}`);
    return lock;
  }
}
