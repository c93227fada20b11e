import { AsyncResource } from 'node:async_hooks';
import {
  catchError,
  concat,
  defer,
  finalize,
  from,
  ignoreElements,
  Observable,
  takeUntil,
  throwError,
} from 'rxjs';
import { LockLostError } from '../shared/errors.js';
import type { HeldLock } from '../shared/types.js';

/** An Observable that a locked method returned: the lock is held until its subscribers are done with it. */
export class HeldStream {
  /** Resolves when the lock is not needed any more. */
  readonly ended: Promise<void>;
  readonly #source: Observable<unknown>;
  readonly #lock: HeldLock;
  #end: () => void = () => undefined;
  #over = false;
  #subscribers = 0;

  /** Made where the method ran: what is subscribed to belongs to that async path, which holds the lock. */
  constructor(source: Observable<unknown>, lock: HeldLock) {
    const path = new AsyncResource('HeldStream');
    this.#source = new Observable((subscriber) => path.runInAsyncScope(() => source.subscribe(subscriber)));
    this.#lock = lock;
    this.ended = new Promise((resolve) => (this.#end = resolve));
  }

  /** What the caller subscribes to. It completes or fails once the lock is released, and fails when the lock is lost. */
  observe(released: Promise<unknown>): Observable<unknown> {
    const afterRelease = defer(() => released).pipe(ignoreElements());
    return defer(() => {
      if (this.#over) throw new LockLostError(this.#lock.name, 'released');
      this.#subscribers += 1;
      return concat(this.#whileHeld(), afterRelease).pipe(
        catchError((error: unknown) => failAfter(released, error)),
      );
    });
  }

  /** Nobody will come any more: without a subscriber the lock is not needed. */
  abandon(): void {
    if (this.#subscribers > 0) return;
    this.#over = true;
    this.#end();
  }

  #whileHeld(): Observable<unknown> {
    return this.#source.pipe(
      takeUntil(lossOf(this.#lock)),
      finalize(() => {
        this.#subscribers -= 1;
        this.abandon();
      }),
    );
  }
}

function lossOf({ signal }: HeldLock): Observable<never> {
  return new Observable((subscriber) => {
    const fail = () => subscriber.error(signal.reason);
    if (signal.aborted) return fail();
    signal.addEventListener('abort', fail);
    return () => signal.removeEventListener('abort', fail);
  });
}

/** The stream's own error wins over one of the release. */
function failAfter(released: Promise<unknown>, error: unknown): Observable<never> {
  const settled = released.then(ignore, ignore);
  return concat(
    from(settled).pipe(ignoreElements()),
    throwError(() => error),
  );
}

function ignore(): void {}
