import type {
  AcquireOptions,
  HeldLock,
  LockInfo,
  LockLogger,
  LockScope,
  ReapReport,
} from '../shared/types.js';
import type { LockModuleOptions } from './lock-module.options.js';

export interface LockRuntime {
  readonly locks: LockManager;
  readonly reaper: Reaper;
  open(): Promise<void>;
  drain(): Promise<void>;
  close(): Promise<void>;
}

export interface LockManager {
  acquire(name: string, options?: AcquireOptions): Promise<HeldLock>;
  tryAcquire(name: string, options?: AcquireOptions): Promise<HeldLock | null>;
  run<T>(name: string, work: (lock: HeldLock) => T | Promise<T>): Promise<T>;
  run<T>(name: string, options: AcquireOptions, work: (lock: HeldLock) => T | Promise<T>): Promise<T>;
  list(filter?: { prefix?: string; scope?: LockScope; host?: string; pid?: number }): Promise<LockInfo[]>;
  inspect(name: string, options?: { scope?: LockScope }): Promise<LockInfo | null>;
  forceRelease(name: string, options: { scope?: LockScope; token: string }): Promise<boolean>;
}

export interface Reaper {
  sweep(): Promise<ReapReport>;
  start(): void;
  stop(): Promise<void>;
}

export function composeLocks(_options: LockModuleOptions, _logger: LockLogger): LockRuntime {
  throw new Error('The core is not there yet.');
}
