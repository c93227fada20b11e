import { Inject, type InjectionToken } from '@nestjs/common';
import { LockService } from './lock.service.js';

/** The runtime behind one LockModule: internal to the module, never exported by it. */
export const LOCK_RUNTIME = Symbol('LockRuntime');

/**
 * The injection token of a lock service: the class `LockService` itself for the default instance, a string for a named
 * one. For `useFactory: …, inject: [getLockToken('reports')]`, `moduleRef.get()` and `overrideProvider()`.
 */
export function getLockToken(instance?: string): InjectionToken<LockService> {
  return instance ? `LockService:${instance}` : LockService;
}

/**
 * Injects the lock service of the module that was configured with `instance`; without a name, the default one.
 * @example constructor(@InjectLock('reports') private readonly locks: LockService) {}
 */
export function InjectLock(instance?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLockToken(instance));
}
