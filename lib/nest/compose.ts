import { randomBytes } from 'node:crypto';
import { Acquirer } from '../core/acquirer.js';
import { ClockWitness } from '../core/clock-witness.js';
import { Ghosts } from '../core/ghosts.js';
import { Holds } from '../core/holds.js';
import { Judge, type Probe } from '../core/judge.js';
import { LeaseKeeper } from '../core/lease-keeper.js';
import { LockManager } from '../core/lock-manager.js';
import { LockTable } from '../core/lock-table.js';
import { Recovery } from '../core/recovery.js';
import type { Self } from '../core/self.js';
import { probe as probeOwner } from '../process/liveness.js';
import { ownIdentity } from '../process/own-identity.js';
import { thisHost } from '../process/this-host.js';
import { Reaper } from '../reaper/reaper.js';
import { systemClock, type Clock } from '../shared/clock.js';
import type { OwnerIdentity } from '../shared/owner.js';
import type { LockLogger } from '../shared/types.js';
import type { LockStore } from '../store/lock-store.js';
import { MysqlLockStore } from '../store/mysql-lock-store.js';
import type { LockModuleOptions } from './lock-module.options.js';
import { resolveOptions } from './resolve-options.js';

/** One lock service, put together: what every public verb and every lifecycle hook calls. */
export interface LockRuntime {
  /** acquire, tryAcquire, run. */
  readonly locks: LockManager;
  /** list, inspect, forceRelease. */
  readonly table: LockTable;
  readonly reaper: Reaper;
  /** Connects, and creates or checks the table. Idempotent; the first acquisition does it, too. */
  open(): Promise<void>;
  /** Refuses new requests, calls off waiters, and lets running work finish, for a bounded time. */
  drain(): Promise<void>;
  /** Stops the reaper, releases everything in one statement, and closes our own pool. Idempotent. */
  close(): Promise<void>;
}

/** What a service takes from the machine it runs on. */
export interface Surroundings {
  readonly clock: Clock;
  /** Who this thread is; asked once, on the thread that owns the locks. */
  readonly identify: () => OwnerIdentity;
  readonly probe: Probe;
}

const REAL: Surroundings = { clock: systemClock, identify: ownIdentity, probe: probeOwner };

const NO_PROOF =
  'The death of a process cannot be proved on this system: a local lock whose owner died stays held until forceRelease(), ' +
  'a global one until its lease ends.';

/**
 * The composition root: the only place that chooses the concrete parts.
 * @throws LockConfigError before anything is opened
 */
export function composeLocks(
  options: LockModuleOptions,
  logger: LockLogger,
  surroundings: Partial<Surroundings> = {},
): LockRuntime {
  const { clock, identify, probe } = { ...REAL, ...surroundings };
  const { connection, tableOptions, waitMs, leaseMs, everyMs, drainMs } = resolveOptions(options, logger);
  if (!thisHost().certain) logger.warn(NO_PROOF);
  const store = new MysqlLockStore(connection, tableOptions, clock);
  const self: Self = { instance: randomBytes(16), owner: identify() };
  const witness = new ClockWitness(clock, () => store.longestLease);
  const judge = new Judge(probe, witness);
  const recovery = new Recovery(store, judge, witness, self, clock, logger);
  const ghosts = new Ghosts(store, clock, logger);
  const keeper = new LeaseKeeper(store, witness, recovery, self, clock, logger);
  const acquirer = new Acquirer(store, judge, witness, recovery, ghosts, self, clock);
  const holds = new Holds({ store, acquirer, keeper, ghosts, self, clock, logger });
  const locks = new LockManager(holds, { waitMs, leaseMs }, self.owner.hostKey, clock);
  const reaper = new Reaper({ store, judge, witness, recovery, holds, logger }, everyMs);
  let closing: Promise<void> | undefined;
  return {
    ...{ locks, reaper, table: new LockTable(store, probe, self) },
    open: () => store.open(),
    drain: () => locks.drain(drainMs),
    close: () => (closing ??= close(store, reaper, holds, locks, logger)),
  };
}

async function close(
  store: LockStore,
  reaper: Reaper,
  holds: Holds,
  locks: LockManager,
  logger: LockLogger,
): Promise<void> {
  await reaper.stop();
  await holds.releaseAll();
  if (!locks.isWorking) return await store.close();
  // Work that overran the drain keeps its lock, and so its renewals, until it ends or the process is gone.
  store.unref();
  void locks
    .finished()
    .then(() => store.close())
    .catch((error: unknown) => logger.warn(`The lock pool could not be closed: ${String(error)}`));
}
