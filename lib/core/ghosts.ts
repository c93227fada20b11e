import type { Clock } from '../shared/clock.js';
import type { LockLogger } from '../shared/types.js';
import { STATEMENT_MS, type Claim, type LockStore } from '../store/lock-store.js';

const TICK_MS = 1_000;

interface Ghost {
  readonly claim: Claim;
  /** No statement of this token can be waiting at the server after this; monotonic milliseconds. */
  readonly until: number;
}

/**
 * Undoes what nobody wants any more. A request whose connection died may still be applied later, also after its undo:
 * so it is undone by token at once and again, until no statement of that token can still be waiting.
 */
export class Ghosts {
  readonly #store: LockStore;
  readonly #clock: Clock;
  readonly #logger: LockLogger;
  readonly #ghosts = new Map<string, Ghost>();
  readonly #atWork = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isInTrouble = false;

  constructor(store: LockStore, clock: Clock, logger: LockLogger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  get claims(): Claim[] {
    return [...this.#ghosts.values()].map(({ claim }) => claim);
  }

  has(tokenHex: string): boolean {
    return this.#ghosts.has(tokenHex);
  }

  /** Undoes a claim that was answered: once, or until the database is there again. */
  undo(claim: Claim): void {
    this.#add(claim, 0);
  }

  /** Undoes a claim whose outcome is unknown. */
  hunt(claim: Claim): void {
    this.#add(claim, STATEMENT_MS);
  }

  /** Follows a request that its caller gave up, and undoes whatever comes of it. */
  follow(request: Promise<boolean>, claim: Claim): void {
    this.#track(
      request.then(
        (granted) => (granted ? this.undo(claim) : undefined),
        () => this.hunt(claim),
      ),
    );
  }

  /** Resolves when nothing is being undone at this moment. */
  async settled(): Promise<void> {
    while (this.#atWork.size > 0) await Promise.all(this.#atWork);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#ghosts.clear();
  }

  #add(claim: Claim, forMs: number): void {
    const ghost = { claim, until: this.#clock.monotonic() + forMs };
    this.#ghosts.set(claim.token.toString('hex'), ghost);
    this.#track(this.#exorcise(ghost));
    this.#arm();
  }

  #arm(): void {
    if (this.#timer || this.#ghosts.size === 0) return;
    this.#timer = setTimeout(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  #tick(): void {
    this.#timer = undefined;
    this.#track(this.#exorciseAll());
  }

  async #exorciseAll(): Promise<void> {
    for (const ghost of this.#ghosts.values()) await this.#exorcise(ghost);
    this.#arm();
  }

  /** Undone for good once an undo went through after nothing could be waiting any more. */
  async #exorcise({ claim, until }: Ghost): Promise<void> {
    const startedAt = this.#clock.monotonic();
    try {
      await this.#store.free([claim]);
      this.#isInTrouble = false;
      if (startedAt >= until) this.#ghosts.delete(claim.token.toString('hex'));
    } catch (error) {
      // Said once: it is tried again every second.
      if (!this.#isInTrouble)
        this.#logger.warn(`A lock that nobody wants could not be freed yet: ${(error as Error).message}`);
      this.#isInTrouble = true;
    }
  }

  #track(work: Promise<void>): void {
    this.#atWork.add(work);
    void work.finally(() => this.#atWork.delete(work));
  }
}
