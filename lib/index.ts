export type { ListFilter } from './core/lock-table.js';
export { CurrentLock } from './nest/current-lock.decorator.js';
export { LockExceptionFilter } from './nest/lock-exception.filter.js';
export { toHttpException } from './nest/lock-http.exception.js';
export { LockInterceptor } from './nest/lock.interceptor.js';
export type { LockModuleExtras } from './nest/lock-module.definition.js';
export type { LockModuleOptions, LockOptionsFactory, LockReaperOptions } from './nest/lock-module.options.js';
export { LockModule } from './nest/lock.module.js';
export { LockService } from './nest/lock.service.js';
export { getLockToken, InjectLock } from './nest/lock.tokens.js';
export { UseLock } from './nest/use-lock.decorator.js';
export type { LockKey, UseLockDecorator, UseLockOptions } from './nest/use-lock.options.js';
export type { Duration } from './shared/duration.js';
export {
  LockConfigError,
  LockError,
  LockLostError,
  LockNameError,
  LockReentrancyError,
  LockShutdownError,
  LockStorageError,
  LockTimeoutError,
} from './shared/errors.js';
export type { LockErrorCode, LockLostReason, StorageTrouble } from './shared/errors.js';
export type {
  AcquireOptions,
  HeldLock,
  Liveness,
  LockHolder,
  LockInfo,
  LockLogger,
  LockScope,
  ReapedLock,
  ReapReport,
} from './shared/types.js';
export type { LockConnection } from './store/connection-settings.js';
export { createLockTableSql } from './store/schema.js';
export type { LockTable } from './store/schema.js';
