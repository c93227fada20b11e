export type { LockModuleOptions, LockOptionsFactory, LockReaperOptions } from './nest/lock-module.options.js';
export { LockModule } from './nest/lock.module.js';
export { LockService } from './nest/lock.service.js';
export type { LockFilter } from './nest/lock.service.js';
export { getLockToken, InjectLock } from './nest/lock.tokens.js';
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
