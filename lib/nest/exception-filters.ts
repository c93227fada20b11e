import 'reflect-metadata';
import type { ExecutionContext } from '@nestjs/common';
import { EXCEPTION_FILTERS_METADATA, FILTER_CATCH_EXCEPTIONS } from '@nestjs/common/constants.js';
import type { ApplicationConfig } from '@nestjs/core';
import { LockError } from '../shared/errors.js';
import { LockExceptionFilter } from './lock-exception.filter.js';

/**
 * Whether a filter of the application, of the controller or of the handler names the class of this error, or
 * `LockError`. Such a filter wants the error itself; all others understand Nest's own exceptions only.
 */
export function isCaughtByClass(
  error: LockError,
  context: ExecutionContext,
  application: ApplicationConfig,
): boolean {
  return [
    ...application.getGlobalFilters(),
    ...application.getGlobalRequestFilters().map(({ metatype }) => metatype),
    ...boundTo(context.getClass()),
    ...boundTo(context.getHandler()),
  ]
    .filter((filter) => !(filter instanceof LockExceptionFilter))
    .flatMap(caughtClasses)
    .some((type) => isLockErrorClass(type) && error instanceof type);
}

function boundTo(target: object): readonly object[] {
  return (Reflect.getMetadata(EXCEPTION_FILTERS_METADATA, target) as object[] | undefined) ?? [];
}

/** A filter is bound as a class or as an instance. */
function caughtClasses(filter: object | null): readonly unknown[] {
  const type: unknown = typeof filter === 'function' ? filter : filter?.constructor;
  if (typeof type !== 'function') return [];
  return (Reflect.getMetadata(FILTER_CATCH_EXCEPTIONS, type) as unknown[] | undefined) ?? [];
}

function isLockErrorClass(type: unknown): type is typeof LockError {
  return typeof type === 'function' && (type === LockError || type.prototype instanceof LockError);
}
