import { Inject, UseInterceptors } from '@nestjs/common';
import { INTERCEPTORS_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { LockConfigError } from '../shared/errors.js';
import { type LockPlan, lockPlan } from './lock-plan.js';
import { LockInterceptor } from './lock.interceptor.js';
import { lockedMethod } from './locked-method.js';
import type { Method } from './method-metadata.js';
import type { LockKey, UseLockDecorator, UseLockOptions } from './use-lock.options.js';

/**
 * Runs a method under a lock: a route handler, after guards and pipes and with their values, or any method of a
 * provider. On a controller class it locks every route handler, inherited ones too. The method answers with a promise
 * from then on; an Observable it returns holds the lock until it is done. Several on one method nest, the upper one
 * outside.
 *
 * @param key the lock's name: static, with `{placeholders}`, or a function of the method's arguments
 * @throws LockConfigError, LockNameError when decorating, for what can never work
 * @throws LockTimeoutError when called and the wait ended (in HTTP 423), see `onBusy`; whatever `LockService.run` throws
 * @example \@Post(':id') \@UseLock('report:{id}', { wait: '2s' }) build(\@Param('id') id: string) {}
 * @example \@UseLock((order: Order) => `order:${order.id}`) ship(order: Order) {}
 */
export function UseLock<Args extends unknown[]>(
  key: LockKey<Args>,
  options: UseLockOptions<Args> = {},
): UseLockDecorator<Args> {
  // The decorator's type has checked the arguments; from here on they are just arguments.
  const plan = lockPlan(key as LockKey, options as UseLockOptions);
  return (target: object, property?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (property === undefined) lockHandlers(target as HandlerClass, plan);
    else lockMethod(target, property, descriptor, plan);
  };
}

type HandlerClass = abstract new (...args: never[]) => unknown;

function lockHandlers({ name, prototype }: HandlerClass, plan: LockPlan): void {
  const handlers = [...descriptorsOf(prototype as object)].filter(([, { value }]) => isHandler(value));
  if (handlers.length === 0) {
    throw new LockConfigError(
      `Expected @UseLock on the class ${name} to find route handlers and got none; put it on the methods themselves.`,
    );
  }
  for (const [property, descriptor] of handlers) {
    lockMethod(prototype as object, property, descriptor, plan);
    Object.defineProperty(prototype, property, descriptor);
  }
}

/** Inherited ones too, the nearest first: an inherited handler left out would be a route without its lock. */
function descriptorsOf(prototype: object | null): Map<string | symbol, PropertyDescriptor> {
  if (prototype === null || prototype === Object.prototype) return new Map();
  const inherited = descriptorsOf(Object.getPrototypeOf(prototype) as object | null);
  for (const property of Reflect.ownKeys(prototype)) {
    inherited.set(property, Object.getOwnPropertyDescriptor(prototype, property) as PropertyDescriptor);
  }
  return inherited;
}

function isHandler(value: unknown): boolean {
  return typeof value === 'function' && Reflect.hasOwnMetadata(PATH_METADATA, value);
}

function lockMethod(
  target: object,
  property: string | symbol,
  descriptor: PropertyDescriptor | undefined,
  plan: LockPlan,
): void {
  if (typeof property === 'object') {
    throw new LockConfigError(
      '@UseLock is a decorator as all of Nest\'s are: set "experimentalDecorators": true in the tsconfig.json that ' +
        'includes this file.',
    );
  }
  if (!descriptor || typeof descriptor.value !== 'function' || typeof target === 'function') {
    throw new LockConfigError(
      `Expected @UseLock on a method of an instance and got ${String(property)}, which is none.`,
    );
  }
  Inject(plan.token)(target, plan.property);
  descriptor.value = lockedMethod(descriptor.value as Method, plan);
  intercept(target, property, descriptor);
}

/** Once for all locks of a method; Nest ignores it where it calls no interceptors. */
function intercept(target: object, property: string | symbol, descriptor: PropertyDescriptor): void {
  const bound = Reflect.getMetadata(INTERCEPTORS_METADATA, descriptor.value as object) as
    unknown[] | undefined;
  if (!bound?.includes(LockInterceptor)) UseInterceptors(LockInterceptor)(target, property, descriptor);
}
