import { isObservable } from 'rxjs';
import { LockConfigError, LockTimeoutError } from '../shared/errors.js';
import type { AcquireOptions, HeldLock } from '../shared/types.js';
import { withCurrentLock } from './current-lock.decorator.js';
import { callServedBy, type HandlerCall, outsideOfCall } from './handler-call.js';
import { HeldStream } from './held-stream.js';
import { rememberStatus } from './lock-http.exception.js';
import type { LockPlan } from './lock-plan.js';
import type { LockService } from './lock.service.js';
import { imitate, type Method, originOf } from './method-metadata.js';
import { httpSources, responseOver } from './http-call.js';

/** One call of a locked method. */
interface Invocation {
  readonly plan: LockPlan;
  readonly method: Method;
  readonly instance: object;
  readonly args: readonly unknown[];
  readonly call: HandlerCall | undefined;
}

/** The method under the lock of the plan. It always answers with a promise, since acquiring takes time. */
export function lockedMethod(method: Method, plan: LockPlan): Method {
  async function locked(this: object, ...args: unknown[]): Promise<unknown> {
    return callLocked({ plan, method, instance: this, args, call: callServedBy(method) });
  }
  imitate(locked, method);
  return locked;
}

async function callLocked(invocation: Invocation): Promise<unknown> {
  const locks = serviceOf(invocation);
  const name = nameOf(invocation);
  let granted = false;
  try {
    return await hold(locks, name, invocation, (lock) => {
      granted = true;
      return callMethod(invocation, lock);
    });
  } catch (error) {
    if (granted) throw error;
    return refused(invocation, error);
  }
}

function serviceOf({ plan, instance, method }: Invocation): Pick<LockService, 'run'> {
  const service = (instance as Record<symbol, LockService> | undefined)?.[plan.property];
  if (service) return service;
  throw new LockConfigError(
    `@UseLock on ${method.name}() found no lock service: Nest did not build this instance. In a unit test build it with ` +
      'Test.createTestingModule, and provide LockService: the real one, or a fake.',
  );
}

function nameOf({ plan, instance, method, args, call }: Invocation): string {
  // An outer lock's @CurrentLock() argument is nobody's data.
  const sources = { args: withCurrentLock(method, args), ...(call && httpSources(call.context)) };
  return plan.nameFor(instance, sources);
}

function callMethod({ method, instance, args }: Invocation, lock: HeldLock): unknown {
  const work = () => method.apply(instance, withCurrentLock(method, args, lock));
  // Another lock's wrapper below still serves the call; the user's own function does not any more.
  return originOf(method) === method ? outsideOfCall(work) : work();
}

/**
 * Resolves to what `work` returns: after the release or, where the lock outlives the return, at once.
 */
function hold(
  locks: Pick<LockService, 'run'>,
  name: string,
  invocation: Invocation,
  work: (lock: HeldLock) => unknown,
): Promise<unknown> {
  const { plan, call } = invocation;
  return new Promise((resolve, reject) => {
    const released: Promise<unknown> = locks.run(name, acquireOptions(plan, call), async (lock) => {
      const value = await work(lock);
      if (isObservable(value)) {
        const stream = new HeldStream(value, lock);
        whenGone(call, () => stream.abandon());
        resolve(stream.observe(released));
        await stream.ended;
      }
      if (plan.holdUntil === 'response' && call) {
        resolve(value);
        await responseOver(call.context);
      }
      return value;
    });
    released.then(resolve, reject);
  });
}

function acquireOptions({ acquire }: LockPlan, call: HandlerCall | undefined): AcquireOptions {
  if (!call) return acquire;
  return { ...acquire, signal: acquire.signal ? AbortSignal.any([acquire.signal, call.gone]) : call.gone };
}

function whenGone(call: HandlerCall | undefined, leave: () => void): void {
  if (call?.gone.aborted) return leave();
  call?.gone.addEventListener('abort', leave, { once: true });
}

function refused({ plan, instance, args, call }: Invocation, error: unknown): unknown {
  const { onBusy, status } = plan;
  if (error instanceof LockTimeoutError && onBusy !== 'throw') {
    return onBusy === 'skip' ? undefined : onBusy.apply(instance, [error, ...args]);
  }
  if (status) rememberStatus(error, status);
  if (call) call.refusal = error;
  throw error;
}
