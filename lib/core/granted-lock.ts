import type { HeldLock, LockScope } from '../shared/types.js';
import type { Hold } from './hold.js';

/** The handle a caller gets. Several handles share a hold when they are nested; the last one's release is the real one. */
export class GrantedLock implements HeldLock {
  readonly #hold: Hold;
  readonly #release: (hold: Hold) => Promise<boolean>;
  #isReleased = false;

  constructor(hold: Hold, release: (hold: Hold) => Promise<boolean>) {
    this.#hold = hold;
    this.#release = release;
  }

  get name(): string {
    return this.#hold.grant.name;
  }

  get scope(): LockScope {
    return this.#hold.grant.scope;
  }

  get token(): string {
    return this.#hold.tokenHex;
  }

  get fencingToken(): number {
    return this.#hold.grant.fencing;
  }

  get signal(): AbortSignal {
    return this.#hold.signal;
  }

  get held(): boolean {
    return !this.#isReleased && this.#hold.loss === undefined;
  }

  assertHeld(): void {
    const loss = this.#isReleased ? 'released' : this.#hold.loss;
    if (loss) throw this.#hold.lost(loss);
  }

  async release(): Promise<boolean> {
    if (this.#isReleased) return false;
    this.#isReleased = true;
    this.#hold.handles -= 1;
    if (this.#hold.handles === 0) return await this.#release(this.#hold);
    return this.#hold.loss === undefined || this.#hold.loss === 'unconfirmed';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
