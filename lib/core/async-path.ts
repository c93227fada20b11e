import { AsyncLocalStorage } from 'node:async_hooks';
import type { Hold } from './hold.js';

/** A step of an async path: what was acquired in it, and the step it went on from. */
interface Step {
  readonly parent: Step | undefined;
  /** Begun by `run()`: nobody but its function is in it. */
  readonly isExact?: true;
  hold?: Hold;
}

/**
 * Knows which locks the running async path holds, so that asking for one of them again is an error and not a deadlock.
 *
 * `run()` is exact: the function runs in a step of its own. `acquire()` has no function to run, so its step begins in the
 * caller's own context and is seen by whatever that goes on to. Several calls made in one go, without an await between
 * them, are siblings: none is a part of another's path.
 */
export class AsyncPath {
  readonly #steps = new AsyncLocalStorage<Step>();
  /** The step begun in the synchronous stretch that is running, if any. */
  #justBegun: Step | undefined;

  /** The lock of this key that the running path holds. */
  holding(id: string): Hold | undefined {
    for (let step = this.#from(); step; step = step.parent) {
      if (step.hold?.id === id && step.hold.state === 'held') return step.hold;
    }
    return undefined;
  }

  /** Whether the running path is certainly inside that lock: a step of `acquire()` is a guess that must never grant. */
  isInside(hold: Hold): boolean {
    for (let step = this.#from(); step; step = step.parent)
      if (step.isExact && step.hold === hold) return true;
    return false;
  }

  /** Begins a step in the caller's own context. */
  begin(): Step {
    const step: Step = { parent: this.#from() };
    this.#steps.enterWith(step);
    this.#justBegun = step;
    queueMicrotask(() => {
      if (this.#justBegun === step) this.#justBegun = undefined;
    });
    return step;
  }

  /** Runs a function in a step of its own. */
  run<T>(hold: Hold, work: () => T): T {
    return this.#steps.run({ parent: this.#from(), hold, isExact: true }, work);
  }

  /** The nearest step that still holds something: a path does not grow with the locks it has given back. */
  #from(): Step | undefined {
    let step = this.#steps.getStore();
    if (step && step === this.#justBegun) step = step.parent;
    while (step && step.hold?.state !== 'held') step = step.parent;
    return step;
  }
}
