import { type ArgumentsHost, Catch, type ExceptionFilter, Inject, Injectable } from '@nestjs/common';
import { type ApplicationConfig, BaseExceptionFilter, HttpAdapterHost } from '@nestjs/core';
import { LockError } from '../shared/errors.js';
import { reportTrouble, toHttpException } from './lock-http.exception.js';

/**
 * Answers HTTP requests that failed with a `LockError`, as `locks.acquire()` in a handler throws it: 423 for a lock
 * that is held, 503 for trouble with the database. Every `LockModule` brings it along, as the last of all filters: one
 * of the application that catches the error wins.
 */
@Injectable()
@Catch(LockError)
export class LockExceptionFilter implements ExceptionFilter<LockError> {
  constructor(@Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost) {}

  catch(exception: LockError, host: ArgumentsHost): void {
    // Nothing returned means "not handled" to the other kinds of contexts: they go on with the error itself.
    if (host.getType() !== 'http') return;
    reportTrouble(exception);
    // Not before now: in tests the adapter comes after the module.
    new BaseExceptionFilter(this.adapterHost.httpAdapter).catch(toHttpException(exception), host);
  }
}

/**
 * Puts the filter behind all others. Nest asks the filter that was registered last first, and registers those of
 * `APP_FILTER` when all modules are built: a module that is just being built comes before them.
 */
export function registerAsLastFilter(application: ApplicationConfig, adapterHost: HttpAdapterHost): void {
  const filters: readonly unknown[] = application.getGlobalFilters();
  if (filters.some((filter) => filter instanceof LockExceptionFilter)) return;
  application.addGlobalFilter(new LockExceptionFilter(adapterHost));
}
