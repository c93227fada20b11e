import { expected, resolveBetween, resolveLease, resolveWait } from '../shared/acquire-options.js';
import { LockConfigError } from '../shared/errors.js';
import type { LockLogger } from '../shared/types.js';
import { checkEngineName, checkTableName } from '../store/schema.js';
import type { TableOptions } from '../store/table-setup.js';
import type { LockModuleOptions } from './lock-module.options.js';

const DEFAULTS = {
  engine: 'auto',
  table: 'locks',
  createTable: true,
  lease: '30s',
  wait: '10s',
  drain: '10s',
} as const;
const DEFAULT_REAPER = { every: '5s' } as const;
const LONGEST_MS = 24 * 3_600_000;

/** The module's options, checked and complete. */
export interface ResolvedOptions {
  readonly connection: LockModuleOptions['connection'];
  readonly tableOptions: TableOptions;
  readonly waitMs: number;
  readonly leaseMs: number;
  /** Infinity for no reaper. */
  readonly everyMs: number;
  readonly drainMs: number;
}

/** @throws LockConfigError */
export function resolveOptions(options: LockModuleOptions, logger: LockLogger): ResolvedOptions {
  if (options === null || typeof options !== 'object')
    throw expected('the module options to be an object', options);
  const { connection, engine, table, createTable, lease, wait, drain } = { ...DEFAULTS, ...defined(options) };
  if (connection === undefined)
    throw new LockConfigError('Expected connection: a URL, a Knex configuration or a Knex.');
  if (typeof createTable !== 'boolean') throw expected('createTable to be true or false', createTable);
  checkTableName(table);
  checkEngineName(engine);
  const leaseMs = resolveLease(lease);
  return {
    ...{ connection, leaseMs, waitMs: resolveWait(wait), everyMs: resolveReaper(options.reaper) },
    drainMs: resolveBetween('drain', drain, 0, LONGEST_MS),
    tableOptions: { table, engine, createTable, lease: leaseMs, logger },
  };
}

function resolveReaper(reaper: LockModuleOptions['reaper'] = DEFAULT_REAPER): number {
  if (reaper === false) return Infinity;
  if (reaper === null || typeof reaper !== 'object')
    throw expected('reaper to be false or an object', reaper);
  return resolveBetween('reaper.every', reaper.every ?? DEFAULT_REAPER.every, 100, LONGEST_MS);
}

type Defined<T> = { [Option in keyof T]: Exclude<T[Option], undefined> };

/** An option given as undefined is one left out. */
function defined(options: LockModuleOptions): Defined<LockModuleOptions> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as unknown as Defined<LockModuleOptions>;
}
