import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { LockModuleOptions } from './lock-module.options.js';

/** What is decided where the module is imported, not by the options' factory. */
export interface LockModuleExtras {
  /**
   * Whether the whole application sees the lock service, or only the modules that import this one.
   * @default false
   */
  isGlobal?: boolean;
  /** The name of this lock service, for `@InjectLock(name)` and `@UseLock(key, { instance: name })`. */
  instance?: string;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<LockModuleOptions>({ moduleName: 'Lock' })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createLockOptions')
    // Each key must be there, also without a default: the builder keeps exactly these out of the options.
    .setExtras<LockModuleExtras>({ isGlobal: false, instance: '' })
    .build();
