import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import { catchError, Observable, throwError } from 'rxjs';
import { LockError } from '../shared/errors.js';
import { isCaughtByClass } from './exception-filters.js';
import { type HandlerCall, withinCall } from './handler-call.js';
import { reportTrouble, toHttpException } from './lock-http.exception.js';

/** Before anybody waits for the result; Nest calls no handler then. */
const NOT_YET = AbortSignal.abort();

/**
 * Stands around the handlers that carry `@UseLock`, which brings it along: it tells the lock which request it belongs
 * to, ends the waiting when the caller is gone, and turns a refusal into an HTTP exception. The handler's own results
 * and errors pass as they are.
 */
@Injectable()
export class LockInterceptor implements NestInterceptor {
  constructor(@Inject(ApplicationConfig) private readonly application: ApplicationConfig) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const call: HandlerCall = { context, gone: NOT_YET };
    // At once, not when subscribed: Nest binds the handler to the async context of this very call.
    const result = withinCall(call, () => next.handle()).pipe(
      catchError((error: unknown) => throwError(() => this.#answer(error, call))),
    );
    return new Observable((subscriber) => {
      const gone = new AbortController();
      call.gone = gone.signal;
      subscriber.add(() => gone.abort());
      subscriber.add(result.subscribe(subscriber));
    });
  }

  #answer(error: unknown, call: HandlerCall): unknown {
    if (error !== call.refusal || !(error instanceof LockError)) return error;
    if (call.context.getType() !== 'http' || isCaughtByClass(error, call.context, this.application))
      return error;
    reportTrouble(error);
    return toHttpException(error);
  }
}
