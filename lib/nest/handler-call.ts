import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';
import { originOf } from './method-metadata.js';

/** One call of a handler by Nest, as the interceptor around it sees it. */
export interface HandlerCall {
  readonly context: ExecutionContext;
  /** Aborts when nobody waits for the handler's result any more. */
  gone: AbortSignal;
  /** The error by which `@UseLock` itself, not the handler, ended the call. */
  refusal?: unknown;
}

const calls = new AsyncLocalStorage<HandlerCall | undefined>();

/** Runs `next`, and what follows from it, as a part of this call. */
export function withinCall<T>(call: HandlerCall, next: () => T): T {
  return calls.run(call, next);
}

/** Runs the user's function: the methods it calls are no handlers, also when they are the same ones. */
export function outsideOfCall<T>(work: () => T): T {
  return calls.getStore() ? calls.run(undefined, work) : work();
}

/** The call of a handler that this function serves; undefined when it was called in any other way. */
export function callServedBy(method: object): HandlerCall | undefined {
  const call = calls.getStore();
  return call && originOf(call.context.getHandler()) === originOf(method) ? call : undefined;
}
