import type { InjectionToken } from '@nestjs/common';
import { resolveAcquire } from '../shared/acquire-options.js';
import { LockConfigError } from '../shared/errors.js';
import type { AcquireOptions } from '../shared/types.js';
import { lockNameTemplate, type TemplateSources } from './lock-name.template.js';
import { getLockToken } from './lock.tokens.js';
import type { LockKey, UseLockOptions } from './use-lock.options.js';

/** What one `@UseLock` says, checked and put in order. */
export interface LockPlan {
  readonly nameFor: (instance: object, sources: TemplateSources) => string;
  readonly acquire: AcquireOptions;
  readonly onBusy: NonNullable<UseLockOptions['onBusy']>;
  readonly holdUntil: NonNullable<UseLockOptions['holdUntil']>;
  readonly status: UseLockOptions['status'];
  /** The lock service's injection token, and the property that holds it in an instance that Nest built. */
  readonly token: InjectionToken;
  readonly property: symbol;
}

const CHOICES = {
  onBusy: ['throw', 'skip'],
  holdUntil: ['settled', 'response'],
  status: [409, 423, 503],
} as const;

/** @throws LockConfigError, LockNameError for what cannot work, where it is written instead of where it is called */
export function lockPlan(key: LockKey, options: UseLockOptions): LockPlan {
  const { onBusy = 'throw', holdUntil = 'settled', status, instance, ...acquire } = options;
  if (typeof onBusy !== 'function') checkChoice('onBusy', onBusy);
  checkChoice('holdUntil', holdUntil);
  if (status !== undefined) checkChoice('status', status);
  resolveAcquire(acquire, { waitMs: 0, leaseMs: 0 });
  const service = { token: getLockToken(instance), property: propertyFor(instance) };
  return { nameFor: nameFunction(key), acquire, onBusy, holdUntil, status, ...service };
}

function checkChoice(option: keyof typeof CHOICES, value: unknown): void {
  const choices: readonly unknown[] = CHOICES[option];
  if (choices.includes(value)) return;
  throw new LockConfigError(
    `Expected the option ${option} of @UseLock to be one of ${choices.join(', ')} and got ${String(value)}.`,
  );
}

function nameFunction(key: LockKey): LockPlan['nameFor'] {
  if (typeof key === 'function') return (instance, { args }) => key.apply(instance, [...args]);
  const fill = lockNameTemplate(key);
  return (_, sources) => fill(sources);
}

const properties = new Map<string, symbol>();

function propertyFor(instance = ''): symbol {
  const property =
    properties.get(instance) ??
    Symbol(`LockService ${instance && `'${instance}' `}for @UseLock: import LockModule, or make it isGlobal`);
  properties.set(instance, property);
  return property;
}
