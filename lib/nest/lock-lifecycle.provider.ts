import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
  ShutdownSignal,
} from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import type { LockRuntime } from './compose.js';
import { LOCK_RUNTIME } from './lock.tokens.js';

/** Applications that were looked at already: one with several lock modules is warned once. */
const inspected = new WeakSet<ApplicationConfig>();

/** Opens, drains and closes one module's locks as the application comes and goes. */
@Injectable()
export class LockLifecycle
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  readonly #logger = new Logger('LockModule');

  constructor(
    @Inject(LOCK_RUNTIME) private readonly runtime: LockRuntime,
    @Inject(ApplicationConfig) private readonly application: ApplicationConfig,
  ) {}

  /** @throws LockStorageError, LockConfigError; the application does not start then */
  onModuleInit(): Promise<void> {
    return this.runtime.open();
  }

  onApplicationBootstrap(): void {
    this.runtime.reaper.start();
    this.#warnWithoutShutdownHooks();
  }

  /** First of two steps, while other modules still work: running work may finish, nothing new begins. */
  beforeApplicationShutdown(): Promise<void> {
    return this.runtime.drain();
  }

  /**
   * Second of two steps. A database that is gone must not keep other modules from shutting down: whatever was still
   * held is freed by its lease's end, or by whoever proves this process gone.
   */
  async onApplicationShutdown(): Promise<void> {
    try {
      await this.runtime.close();
    } catch (error) {
      this.#logger.error(`The locks could not be released at shutdown: ${String(error)}`);
    }
  }

  #warnWithoutShutdownHooks(): void {
    if (inspected.has(this.application)) return;
    inspected.add(this.application);
    if (isSignalHandled()) return;
    this.#logger.warn(
      'Expected shutdown hooks and found no listener for a termination signal: after one, locks stay held until this ' +
        'process is proved gone. Call app.enableShutdownHooks() before the application starts.',
    );
  }
}

/** Nest does not say whether its shutdown hooks are on; that somebody listens is what can be seen, and what counts. */
function isSignalHandled(): boolean {
  return [ShutdownSignal.SIGTERM, ShutdownSignal.SIGINT].some((signal) => process.listenerCount(signal) > 0);
}
