import { type DynamicModule, Inject, Logger, Module, type Provider } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { registerAsLastFilter } from './lock-exception.filter.js';
import { LockLifecycle } from './lock-lifecycle.provider.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  type LockModuleExtras,
  MODULE_OPTIONS_TOKEN,
  type OPTIONS_TYPE,
} from './lock-module.definition.js';
import type { LockModuleOptions } from './lock-module.options.js';
import { composeLocks, type LockRuntime } from './compose.js';
import { LockService } from './lock.service.js';
import { getLockToken, LOCK_RUNTIME } from './lock.tokens.js';

/** Provides a {@link LockService}. Each import by `forRoot` or `forRootAsync` is a service, pool and reaper of its own. */
@Module({})
export class LockModule extends ConfigurableModuleClass {
  constructor(
    @Inject(ApplicationConfig) application: ApplicationConfig,
    @Inject(HttpAdapterHost) adapterHost: HttpAdapterHost,
  ) {
    super();
    registerAsLastFilter(application, adapterHost);
  }

  /**
   * Provides a lock service with these options.
   * @example imports: [LockModule.forRoot({ connection: process.env.DATABASE_URL!, isGlobal: true })]
   */
  static override forRoot(options: typeof OPTIONS_TYPE): DynamicModule {
    return withService(super.forRoot(options), options);
  }

  /**
   * Provides a lock service whose options come from a factory function, or from a provider that implements
   * `LockOptionsFactory`. `isGlobal` and `instance` stand beside the factory.
   */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return withService(super.forRootAsync(options), options);
  }
}

function withService(definition: DynamicModule, { isGlobal, instance }: LockModuleExtras): DynamicModule {
  const token = getLockToken(instance);
  const providers = [...(definition.providers ?? []), runtime(instance), service(token), LockLifecycle];
  return { ...definition, global: isGlobal ?? false, providers, exports: [token] };
}

function runtime(instance?: string): Provider {
  const logger = new Logger(instance ? `LockModule:${instance}` : LockModule.name);
  return {
    provide: LOCK_RUNTIME,
    useFactory: (options: LockModuleOptions) => composeLocks(options, logger),
    inject: [MODULE_OPTIONS_TOKEN],
  };
}

function service(provide: ReturnType<typeof getLockToken>): Provider {
  return {
    provide,
    useFactory: (runtime: LockRuntime) => new LockService(runtime),
    inject: [LOCK_RUNTIME],
  };
}
