import { LockConfigError } from '../shared/errors.js';
import type { HeldLock } from '../shared/types.js';
import type { Method } from './method-metadata.js';

const CURRENT_LOCK = Symbol('interlock:current-lock');

/**
 * The `HeldLock` of the method's `@UseLock`, as a parameter: of a route handler, or of any other method of a provider.
 * With several locks it is the one whose decorator stands nearest to the method. Callers of a plain method leave the
 * parameter out, so it is best the last one, and optional.
 * @example \@UseLock('report:{id}') build(id: string, @CurrentLock() lock?: HeldLock) {}
 */
export function CurrentLock(): ParameterDecorator {
  return (target, property, index) => {
    if (property === undefined) {
      throw new LockConfigError(
        'Expected @CurrentLock() on a parameter of a method and got one of a constructor.',
      );
    }
    const method = Reflect.get(target, property) as Method;
    Reflect.defineMetadata(CURRENT_LOCK, [...parametersOf(method), index], method);
  };
}

/** The arguments with the lock, or nothing, put where the method asks for it. */
export function withCurrentLock(method: Method, args: readonly unknown[], lock?: HeldLock): unknown[] {
  const filled = [...args];
  for (const index of parametersOf(method)) filled[index] = lock;
  return filled;
}

function parametersOf(method: Method): readonly number[] {
  return (Reflect.getOwnMetadata(CURRENT_LOCK, method) as number[] | undefined) ?? [];
}
