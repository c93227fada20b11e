import { setTimeout as sleep } from 'node:timers/promises';
import type { ClockWitness } from '../core/clock-witness.js';
import type { Holds } from '../core/holds.js';
import type { Judge } from '../core/judge.js';
import type { Recovery } from '../core/recovery.js';
import { nameOf } from '../shared/lock-name.js';
import type { LockLogger, ReapedLock, ReapReport } from '../shared/types.js';
import type { LockRow, LockStore, Snapshot } from '../store/lock-store.js';

/** A row goes after it has been free for so long; in microseconds. */
const DAY = 86_400_000_000;
/** So many rows go in one sweep at most. */
const PRUNE_BATCH = 100;

/** What the reaper works with. */
export interface ReaperParts {
  readonly store: LockStore;
  readonly judge: Judge;
  readonly witness: ClockWitness;
  readonly recovery: Recovery;
  readonly holds: Holds;
  readonly logger: LockLogger;
}

/** Frees what the dead of this host held and what has expired, row by row, each by compare-and-swap on what was seen. */
export class Reaper {
  readonly #parts: ReaperParts;
  readonly #everyMs: number;
  #stopped: AbortController | undefined;
  #sweeping: Promise<unknown> = Promise.resolve();

  /** @param everyMs Infinity for a reaper that sweeps only when told to */
  constructor(parts: ReaperParts, everyMs: number) {
    this.#parts = parts;
    this.#everyMs = everyMs;
  }

  /** Sweeps from now on, about every `everyMs`; never two sweeps at once, and never keeping the process alive. */
  start(): void {
    if (this.#stopped || this.#everyMs === Infinity) return;
    this.#stopped = new AbortController();
    this.#sweeping = this.#sweepUntil(this.#stopped.signal);
  }

  /** Resolves when the last sweep has ended. */
  async stop(): Promise<void> {
    this.#stopped?.abort();
    await this.#sweeping;
    this.#stopped = undefined;
  }

  /** One sweep. @throws LockStorageError */
  async sweep(): Promise<ReapReport> {
    const { store, witness, recovery, holds } = this.#parts;
    const snapshot = await store.scan();
    witness.hear(snapshot);
    await recovery.heed(snapshot);
    holds.audit(snapshot.rows.values());
    const freed: ReapedLock[] = [];
    for (const row of snapshot.rows.values()) {
      const reaped = await this.#reap(row, snapshot);
      if (reaped) freed.push(reaped);
    }
    return { freed, pruned: await store.prune(DAY, PRUNE_BATCH) };
  }

  async #reap(row: LockRow, snapshot: Snapshot): Promise<ReapedLock | null> {
    const { judge, store } = this.#parts;
    const stored = nameOf(row.key);
    const verdict = stored ? judge.judge(row, snapshot) : null;
    if (!stored || verdict?.kind !== 'ended') return null;
    if (!(await store.freeSeen(row.key, verdict.seen))) return null;
    const { host, pid, thread } = row.owner;
    return { ...stored, token: row.token.toString('hex'), host, pid, thread, reason: verdict.reason };
  }

  async #sweepUntil(stopped: AbortSignal): Promise<void> {
    while (await this.#pause(stopped)) {
      try {
        const { freed } = await this.sweep();
        for (const { name, scope, pid, reason } of freed) {
          this.#parts.logger.log(`Freed the ${scope} lock '${name}' of pid ${pid}: ${reason}.`);
        }
      } catch (error) {
        this.#parts.logger.warn(`The reaper could not sweep, and will again: ${(error as Error).message}`);
      }
    }
  }

  /** Jittered, so that the processes of a host do not all sweep at once. */
  async #pause(stopped: AbortSignal): Promise<boolean> {
    const ms = this.#everyMs * (0.75 + Math.random() / 2);
    await sleep(ms, undefined, { ref: false, signal: stopped }).catch(() => undefined);
    return !stopped.aborted;
  }
}
