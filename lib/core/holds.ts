import type { Clock } from '../shared/clock.js';
import { readable } from '../shared/duration.js';
import { describeHolder, LockShutdownError, type LockLostReason } from '../shared/errors.js';
import type { LockHolder, LockLogger } from '../shared/types.js';
import type { LockRow, LockStore } from '../store/lock-store.js';
import type { Acquirer, LockRequest, Obstacle, Outcome } from './acquirer.js';
import { Gates } from './gate.js';
import type { Ghosts } from './ghosts.js';
import { Hold, type Grant } from './hold.js';
import { reasonOf, type LeaseKeeper } from './lease-keeper.js';
import type { CheckedRequest } from './lock-manager.js';
import type { Self } from './self.js';
import { Waiters } from './waiters.js';

/** A holder is named in the log once a wait has lasted this long. */
const LONG_WAIT_MS = 5_000;

/** The rooms that a lock passes through. */
export interface Rooms {
  readonly store: LockStore;
  readonly acquirer: Acquirer;
  readonly keeper: LeaseKeeper;
  readonly ghosts: Ghosts;
  readonly self: Self;
  readonly clock: Clock;
  readonly logger: LockLogger;
}

/** The locks of this service from the line before them to their release. */
export class Holds {
  readonly #rooms: Rooms;
  readonly #gates: Gates;
  readonly #waiters = new Waiters();
  readonly #leave = new Map<Hold, () => void>();
  /** Tokens from their grant to the end of their release: a lost lock's row is still its holder's to give back. */
  readonly #tokens = new Set<string>();
  #isRefusing = false;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
    this.#gates = new Gates(rooms.clock);
  }

  /** Waits in line, then for the lock itself. @throws LockShutdownError, LockStorageError, or the signal's reason */
  async obtain(request: CheckedRequest): Promise<Outcome> {
    if (this.#isRefusing) throw new LockShutdownError(request.name);
    const until = this.#rooms.clock.monotonic() + request.waitMs;
    const waiter = this.#waiters.add(request.signal);
    try {
      const leave = await this.#gates.enter(request.id, request.waitMs, waiter.signal);
      return leave
        ? await this.#atHead(request, until, waiter.signal, leave)
        : { obstacle: this.#mine(request.id) };
    } finally {
      waiter.done();
    }
  }

  /** Gives a lock back. @returns whether there was something to give back @throws LockStorageError */
  async release(hold: Hold): Promise<boolean> {
    if (hold.reason === 'shutdown') return false;
    const isHeld = hold.loss === undefined || hold.loss === 'unconfirmed';
    hold.release();
    try {
      const [isFreed] = await this.#rooms.store.free([hold.grant]);
      if (hold.wasReclaimed) this.#rooms.ghosts.hunt(hold.grant);
      return isHeld && isFreed!;
    } catch (error) {
      this.#rooms.ghosts.hunt(hold.grant);
      throw error;
    } finally {
      this.#forget(hold);
    }
  }

  /** A release under a result that must not be replaced: the release goes on in the background. */
  onReleaseFailed(hold: Hold, error: unknown): boolean {
    this.#rooms.logger.warn(
      `Lock '${hold.grant.name}' could not be released yet: ${(error as Error).message}`,
    );
    return hold.reason === 'released';
  }

  /** What became of a lock that was not there any more when it was released. */
  async whyGone(hold: Hold): Promise<LockLostReason> {
    try {
      const { rows } = await this.#rooms.store.look([hold.grant.key]);
      return reasonOf(hold, rows.get(hold.id));
    } catch (error) {
      this.#rooms.logger.warn(
        `Why lock '${hold.grant.name}' is gone cannot be seen: ${(error as Error).message}`,
      );
      return 'missing';
    }
  }

  /** From now on nothing is granted, and nobody waits any more. */
  refuse(): void {
    this.#isRefusing = true;
    this.#waiters.abortAll(new LockShutdownError());
  }

  /** Frees every lock that no function is running under, in one statement. Their holders are told. */
  async releaseAll(): Promise<void> {
    const { keeper, ghosts, store, logger } = this.#rooms;
    this.refuse();
    await ghosts.settled();
    const idle = [...keeper.holds].filter(({ runs }) => runs === 0);
    for (const hold of idle) hold.lose('shutdown');
    try {
      await store.freeAll([...idle.map(({ grant }) => grant), ...ghosts.claims]);
    } catch (error) {
      logger.warn(`Locks could not be released while shutting down: ${(error as Error).message}`);
    }
    ghosts.stop();
  }

  /** Undoes rows of this service that none of its locks and requests knows: what a lost connection left behind. */
  audit(rows: Iterable<LockRow>): void {
    const { self, acquirer, ghosts } = this.#rooms;
    for (const { key, token, instance } of rows) {
      if (!instance.equals(self.instance)) continue;
      const tokenHex = token.toString('hex');
      const isKnown = this.#tokens.has(tokenHex) || acquirer.isPending(tokenHex) || ghosts.has(tokenHex);
      if (!isKnown) ghosts.undo({ key, token });
    }
  }

  async #atHead(
    request: CheckedRequest,
    until: number,
    signal: AbortSignal,
    leave: () => void,
  ): Promise<Outcome> {
    let isGranted = false;
    const onGrant = (grant: Grant): Hold => {
      isGranted = true;
      return this.#hold(grant, leave);
    };
    const onWaiting = this.#longWaitWarning(request.name);
    try {
      const head: LockRequest = { ...request, until, signal, onGrant, onWaiting };
      return await this.#rooms.acquirer.acquire(head);
    } finally {
      if (!isGranted) leave();
    }
  }

  #hold(grant: Grant, leave: () => void): Hold {
    const { keeper, clock } = this.#rooms;
    const hold: Hold = new Hold(grant, clock, (state) => {
      keeper.remove(hold);
      // A released lock keeps its place until its row is free: the next in line then gets it at the first try.
      if (state === 'lost') this.#leaveLine(hold);
    });
    this.#leave.set(hold, leave);
    this.#tokens.add(hold.tokenHex);
    keeper.add(hold);
    return hold;
  }

  #forget(hold: Hold): void {
    this.#tokens.delete(hold.tokenHex);
    this.#leaveLine(hold);
  }

  #leaveLine(hold: Hold): void {
    this.#leave.get(hold)?.();
    this.#leave.delete(hold);
  }

  /** Somebody in this very process is ahead. */
  #mine(id: string): Obstacle {
    const hold = [...this.#rooms.keeper.holds].find((held) => held.id === id);
    return { kind: 'held', endsInMs: Infinity, ...(hold && { holder: this.#holderOf(hold) }) };
  }

  #holderOf({ grant }: Hold): LockHolder {
    const { host, pid, thread } = this.#rooms.self.owner;
    return { host, pid, thread, label: grant.label, since: new Date(grant.fencing / 1_000) };
  }

  #longWaitWarning(name: string): (obstacle: Obstacle) => void {
    const { clock, logger } = this.#rooms;
    const startedAt = clock.monotonic();
    let isDue = true;
    return (obstacle) => {
      if (!isDue || clock.monotonic() - startedAt < LONG_WAIT_MS) return;
      isDue = false;
      const holder =
        obstacle.kind === 'held' && obstacle.holder ? describeHolder(obstacle.holder) : obstacle.kind;
      logger.warn(
        `Still waiting for lock '${name}' after ${readable(clock.monotonic() - startedAt)}: ${holder}.`,
      );
    };
  }
}
