import { LockConfigError } from '../shared/errors.js';
import { KEY_BYTES } from '../shared/lock-name.js';
import { STATEMENT_MS } from './lock-store.js';

/** The columns in the order of the table, with their types as both servers report them (display widths left out). */
export const COLUMNS = {
  lock_key: `varbinary(${KEY_BYTES})`,
  token: 'binary(16)',
  instance: 'binary(16)',
  host_key: 'binary(16)',
  host: 'varbinary(64)',
  pid: 'int unsigned',
  thread: 'int unsigned',
  started: 'varbinary(32)',
  label: 'varbinary(100)',
  lease: 'bigint',
  beat: 'int',
  witnessed: 'tinyint',
  server_id: 'bigint',
  fencing: 'bigint',
  acquired_at: 'bigint',
  renewed_at: 'bigint',
  expires_at: 'bigint',
} as const;

/** Microseconds since the epoch by the database's clock: no time zone, no DST, no session state, fixed at statement start. */
export const NOW = `TIMESTAMPDIFF(MICROSECOND,'1970-01-01 00:00:00',UTC_TIMESTAMP(6))`;

const VERSION = 1;
const TABLE_NAME = /^[A-Za-z0-9_$]{1,64}$/;
const ENGINE_NAME = /^[A-Za-z0-9_]{1,64}$/;
const COMMENT = /^nestjs-interlock v(\d+), longest lease (\d+) ms$/;

/** What {@link createLockTableSql} needs to know. */
export interface LockTable {
  /** @default 'locks' */
  table?: string;
  /** Any storage engine's name. @default 'InnoDB' */
  engine?: string;
  /** The longest lease that will be used on the table, in milliseconds. @default 30000 */
  longestLease?: number;
}

/**
 * The statements that make a lock table, for people who migrate by hand (`createTable: false`). Run both, in this
 * order, on the primary, before any service uses the table: the second one opens the table for grants.
 * @throws LockConfigError
 */
export function createLockTableSql(options: LockTable = {}): [create: string, open: string] {
  const { table = 'locks', engine = 'InnoDB', longestLease = 30_000 } = options;
  checkTableName(table);
  checkEngineName(engine);
  const columns = Object.entries(COLUMNS).map(
    ([name, type]) => `  ${name} ${type.toUpperCase()} NOT NULL,\n`,
  );
  const create =
    `CREATE TABLE \`${table}\` (\n${columns.join('')}  PRIMARY KEY (lock_key) USING BTREE\n) ` +
    `ENGINE=${engine} COMMENT='${tableComment(longestLease)}'`;
  return [create, openSentinelSql(table, longestLease)];
}

/** The sentinel row of a new table: open from the start. */
function openSentinelSql(table: string, longestLease: number): string {
  const lease = String(recoveryTime(longestLease));
  const values = Object.entries(COLUMNS).map(([name, type]) =>
    name === 'lease' ? lease : sentinelValue(name, type),
  );
  return `INSERT INTO \`${table}\` (${Object.keys(COLUMNS).join(', ')}) VALUES (${values.join(', ')})`;
}

function sentinelValue(column: string, type: string): string {
  if (column === 'server_id') return '@@server_id';
  if (column === 'fencing' || column === 'acquired_at' || column === 'renewed_at') return NOW;
  return type.includes('binary') ? `''` : '0';
}

/** How long a recovery lasts, in microseconds: until every lease has ended and no statement can still be waiting. */
export function recoveryTime(longestLease: number): number {
  return (longestLease + STATEMENT_MS) * 1_000;
}

/** Survives a restart with the table's definition, also when the rows of a MEMORY table do not. */
export function tableComment(longestLease: number): string {
  return `nestjs-interlock v${VERSION}, longest lease ${longestLease} ms`;
}

/**
 * Reads the table's comment back.
 * @returns the longest lease in use, in milliseconds
 * @throws LockConfigError for a table that is not ours, or of another version
 */
export function longestLeaseOf(table: string, comment: string): number {
  const match = COMMENT.exec(comment);
  if (!match)
    throw new LockConfigError(
      `Table '${table}' exists and is not a lock table: its comment is '${comment}'.`,
    );
  if (Number(match[1]) !== VERSION) {
    throw new LockConfigError(
      `Table '${table}' is a lock table of version ${match[1]}; this release reads version ${VERSION}.`,
    );
  }
  return Number(match[2]);
}

/** @throws LockConfigError when the table has other columns than ours. Further columns with defaults are left alone. */
export function checkColumns(table: string, found: ReadonlyMap<string, string>): void {
  for (const [name, type] of Object.entries(COLUMNS)) {
    const actual = found
      .get(name)
      ?.toLowerCase()
      .replace(/(int)\(\d+\)/, '$1');
    if (actual !== type) {
      throw new LockConfigError(
        `Table '${table}': expected column ${name} ${type} and found ${actual ?? 'none'}.`,
      );
    }
  }
}

/** @throws LockConfigError */
export function checkTableName(table: unknown): void {
  if (typeof table !== 'string' || !TABLE_NAME.test(table)) {
    throw new LockConfigError(
      `Expected a table name of letters, digits, _ and $ and got ${JSON.stringify(table)}.`,
    );
  }
}

/** @throws LockConfigError */
export function checkEngineName(engine: unknown): void {
  if (typeof engine !== 'string' || !ENGINE_NAME.test(engine)) {
    throw new LockConfigError(`Expected a storage engine's name and got ${JSON.stringify(engine)}.`);
  }
}
