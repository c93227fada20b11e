import { randomBytes } from 'node:crypto';
import type { Clock } from '../shared/clock.js';
import { LockStorageError } from '../shared/errors.js';
import { retrying } from '../shared/retry.js';
import type { LockScope } from '../shared/types.js';
import type { Claim, LockStore, Seen, TakeReply } from '../store/lock-store.js';
import { orAborted, pause } from './abort.js';
import { backOff } from './back-off.js';
import type { ClockWitness } from './clock-witness.js';
import type { Ghosts } from './ghosts.js';
import { marginOf, type Grant, type Hold } from './hold.js';
import type { Judge, Verdict } from './judge.js';
import type { Recovery } from './recovery.js';
import type { Self } from './self.js';

/** A request for one lock, as it stands at the head of its line. */
export interface LockRequest {
  readonly name: string;
  readonly key: Buffer;
  readonly id: string;
  readonly scope: LockScope;
  readonly label: string;
  readonly leaseMs: number;
  /** Until when to wait, in monotonic milliseconds. */
  readonly until: number;
  readonly signal: AbortSignal;
  /** Called at once when the lock is granted, so that its row is never without somebody who knows it. */
  onGrant(grant: Grant): Hold;
  /** Called after each look that shows the lock held. */
  onWaiting(obstacle: Obstacle): void;
}

/** What stood in the way at the last look. */
export type Obstacle = Exclude<Verdict, { kind: 'free' } | { kind: 'ended' }>;

/** Either the lock, or what stood in its way. */
export type Outcome = { readonly hold: Hold } | { readonly obstacle: Obstacle };

type Way = { readonly seen?: Seen };

const UNKNOWN_HOLDER: Obstacle = { kind: 'held', endsInMs: Infinity };

/** Gets a lock from the table: one write when nobody has it, then looks, and writes only when one can succeed. */
export class Acquirer {
  readonly #store: LockStore;
  readonly #judge: Judge;
  readonly #witness: ClockWitness;
  readonly #recovery: Recovery;
  readonly #ghosts: Ghosts;
  readonly #self: Self;
  readonly #clock: Clock;
  /** Tokens of requests on their way: their rows are no ghosts. */
  readonly #pending = new Set<string>();

  constructor(
    store: LockStore,
    judge: Judge,
    witness: ClockWitness,
    recovery: Recovery,
    ghosts: Ghosts,
    self: Self,
    clock: Clock,
  ) {
    this.#store = store;
    this.#judge = judge;
    this.#witness = witness;
    this.#recovery = recovery;
    this.#ghosts = ghosts;
    this.#self = self;
    this.#clock = clock;
  }

  isPending(tokenHex: string): boolean {
    return this.#pending.has(tokenHex);
  }

  /** Tries until the lock is granted, the wait ends, or the signal aborts. */
  async acquire(request: LockRequest): Promise<Outcome> {
    await orAborted(this.#store.ensureLease(request.leaseMs), request.signal);
    for (let turn = 0; ; turn++) {
      const outcome = await this.#try(request, turn === 0);
      const left = request.until - this.#clock.monotonic();
      if ('hold' in outcome || left <= 0) return outcome;
      request.onWaiting(outcome.obstacle);
      await pause(Math.min(left, backOff(turn), Math.max(1, outcome.obstacle.endsInMs)), request.signal);
    }
  }

  /** One turn. The first one is bold: on the uncontended path its one round trip is the only one. */
  async #try(request: LockRequest, isFirst: boolean): Promise<Outcome> {
    const bold = isFirst ? await this.#take(request, {}) : null;
    if (bold) return { hold: bold };
    const verdict = await orAborted(this.#look(request), request.signal);
    if (verdict.kind === 'held' || verdict.kind === 'recovering') return { obstacle: verdict };
    const hold = await this.#take(request, verdict.kind === 'ended' ? { seen: verdict.seen } : {});
    return hold ? { hold } : { obstacle: UNKNOWN_HOLDER };
  }

  async #look({ key, id }: LockRequest): Promise<Verdict> {
    const snapshot = await this.#store.look([key]);
    this.#witness.hear(snapshot);
    const state = await this.#recovery.heed(snapshot);
    if (!state.open) return { kind: 'recovering', endsInMs: state.endsInMs };
    return this.#judge.judge(snapshot.rows.get(id), snapshot);
  }

  async #take(request: LockRequest, way: Way): Promise<Hold | null> {
    try {
      return await retrying(() => this.#takeOnce(request, way));
    } catch (error) {
      if (!(error instanceof LockStorageError) || error.trouble !== 'full') throw error;
      // The table has no room for a new row: free ones make it.
      await this.#store.prune(0, FULL_BATCH);
      return await this.#takeOnce(request, way);
    }
  }

  /** Each attempt carries a token of its own, a repeated one too: what comes late of an earlier one is never taken for it. */
  async #takeOnce(request: LockRequest, way: Way): Promise<Hold | null> {
    const claim: Claim = { key: request.key, token: randomBytes(16) };
    const tokenHex = claim.token.toString('hex');
    this.#pending.add(tokenHex);
    const taking = this.#send(request, claim, way);
    try {
      return this.#granted(request, claim, await orAborted(taking, request.signal));
    } catch (error) {
      this.#ghosts.follow(
        taking.then(({ fencing }) => fencing !== null),
        claim,
      );
      throw error;
    } finally {
      this.#pending.delete(tokenHex);
    }
  }

  async #send(request: LockRequest, claim: Claim, way: Way): Promise<TakeReply> {
    const { scope, label, leaseMs } = request;
    const { floor } = this.#recovery;
    const take = { ...claim, ...this.#self, ...way, scope, label, floor, lease: leaseMs * 1_000 };
    const [reply] = await this.#store.take([take], this.#witness.testify);
    return reply!;
  }

  /** A grant that took so long that no margin is left is none: it may have waited for a row lock since long ago. */
  #granted(request: LockRequest, claim: Claim, { fencing, sentAt }: TakeReply): Hold | null {
    if (fencing === null) return null;
    this.#recovery.note(fencing);
    const { name, scope, label, leaseMs } = request;
    if (this.#clock.monotonic() < sentAt + leaseMs - marginOf(leaseMs)) {
      return request.onGrant({ ...claim, name, scope, label, leaseMs, fencing, sentAt });
    }
    this.#ghosts.undo(claim);
    return null;
  }
}

const FULL_BATCH = 1_000;
