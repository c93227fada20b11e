import { milliseconds } from './duration.js';
import { LockConfigError } from './errors.js';
import type { AcquireOptions, LockScope } from './types.js';

const SHORTEST_LEASE_MS = 100;
const LONGEST_LEASE_MS = 24 * 3_600_000;
const LABEL_BYTES = 100;

/** One acquisition's options, checked and complete. */
export interface ResolvedAcquire {
  readonly scope: LockScope;
  /** 0 is exactly one try. */
  readonly waitMs: number;
  readonly leaseMs: number;
  readonly signal: AbortSignal | undefined;
  readonly label: string;
  readonly reentrant: boolean;
}

/** What an acquisition takes from the module's options. */
export type AcquireDefaults = Pick<ResolvedAcquire, 'waitMs' | 'leaseMs'>;

/** @throws LockConfigError */
export function resolveAcquire(options: AcquireOptions, defaults: AcquireDefaults): ResolvedAcquire {
  if (options === null || typeof options !== 'object') throw expected('options to be an object', options);
  const { scope = 'global', wait, lease, signal, label = '', reentrant = false } = options;
  checkScope(scope);
  if (typeof reentrant !== 'boolean') throw expected('reentrant to be true or false', reentrant);
  return {
    scope,
    reentrant,
    signal: checkSignal(signal),
    label: checkLabel(label),
    waitMs: wait === undefined ? defaults.waitMs : resolveWait(wait),
    leaseMs: lease === undefined ? defaults.leaseMs : resolveLease(lease),
  };
}

/** @throws LockConfigError */
export function checkScope(scope: unknown): asserts scope is LockScope {
  if (scope !== 'global' && scope !== 'local') throw expected("scope to be 'global' or 'local'", scope);
}

/** @returns milliseconds; 0 for exactly one try. @throws LockConfigError */
export function resolveWait(wait: unknown): number {
  if (wait === false) return 0;
  const ms = milliseconds(wait);
  if (!(ms >= 0)) throw expected("wait to be false or a duration of 0 or more, like 500 or '10s'", wait);
  return ms;
}

/** @returns milliseconds. @throws LockConfigError */
export function resolveLease(lease: unknown): number {
  return resolveBetween('lease', lease, SHORTEST_LEASE_MS, LONGEST_LEASE_MS);
}

/** @returns whole milliseconds. @throws LockConfigError */
export function resolveBetween(name: string, value: unknown, least: number, most: number): number {
  const ms = milliseconds(value);
  if (!(ms >= least && ms <= most))
    throw expected(`${name} to be a duration of ${least} ms to ${most} ms`, value);
  return Math.round(ms);
}

/** An error that says what was expected and what came. */
export function expected(what: string, value: unknown): LockConfigError {
  return new LockConfigError(`Expected ${what} and got ${shown(value)}.`);
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

function checkSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw expected('signal to be an AbortSignal', signal);
}

function checkLabel(label: unknown): string {
  if (typeof label !== 'string') throw expected('label to be a string', label);
  if (Buffer.byteLength(label) > LABEL_BYTES)
    throw expected(`label to have at most ${LABEL_BYTES} bytes`, label);
  return label;
}
