import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import mysql from 'mysql2/promise';
import { composeLocks, type LockRuntime, type Surroundings } from '../../lib/nest/compose.js';
import type { LockModuleOptions } from '../../lib/nest/lock-module.options.js';
import { ownIdentity } from '../../lib/process/own-identity.js';
import type { Clock } from '../../lib/shared/clock.js';
import type { Cell } from './matrix.js';
import { freshDatabase } from './servers.js';

/** A database for one suite, and services on it that close themselves. */
export interface Bench {
  /** A new lock table's name. */
  readonly table: () => string;
  /** The options of a service: quick to notice things, and without a reaper of its own. */
  readonly options: (more?: Partial<LockModuleOptions>) => LockModuleOptions;
  /** A service of its own, closed when the test ends. */
  readonly service: (more?: Partial<LockModuleOptions>, around?: Partial<Surroundings>) => LockRuntime;
  /** Two services on one new table. */
  readonly pair: (more?: Partial<LockModuleOptions>) => { a: LockRuntime; b: LockRuntime; table: string };
  /** Asks the database beside the library. */
  readonly sql: (text: string, values?: unknown[]) => Promise<mysql.RowDataPacket[]>;
  readonly url: string;
}

/** What the services of the running test logged. */
export const logged: string[] = [];

const logger = {
  log: (message: string) => void logged.push(message),
  warn: (message: string) => void logged.push(message),
  error: (message: string) => void logged.push(message),
};

/** To be called inside a describe. */
export function bench(cell: Cell): Bench {
  let database: { url: string; drop(): Promise<void> };
  let connection: mysql.Connection;
  beforeAll(async () => {
    database = await freshDatabase(cell.url);
    connection = await mysql.createConnection(database.url);
  });
  afterAll(async () => {
    await connection.end();
    await database.drop();
  });
  const options = (more: Partial<LockModuleOptions> = {}): LockModuleOptions => ({
    ...{
      connection: database.url,
      engine: cell.engine,
      table: 'locks',
      lease: '5s',
      reaper: false,
      drain: '1s',
    },
    ...more,
  });
  const service = (more?: Partial<LockModuleOptions>, around?: Partial<Surroundings>): LockRuntime => {
    const runtime = composeLocks(options(more), logger, around);
    onTestFinished(() => runtime.close());
    return runtime;
  };
  const pair = (more: Partial<LockModuleOptions> = {}) => {
    const table = more.table ?? freshTable();
    return { table, a: service({ ...more, table }), b: service({ ...more, table }) };
  };
  const sql = async (text: string, values: unknown[] = []) =>
    (await connection.query<mysql.RowDataPacket[]>(text, values))[0];
  return {
    ...{ table: freshTable, options, service, pair, sql },
    get url() {
      return database.url;
    },
  };
}

function freshTable(): string {
  return `locks_${randomBytes(6).toString('hex')}`;
}

/** The surroundings of a process on another host: nobody here can judge it, and it can judge nobody here. */
export function onHost(name: string): Partial<Surroundings> {
  const hostKey = createHash('sha256').update(name).digest().subarray(0, 16);
  return { identify: () => ({ ...ownIdentity(), hostKey, host: name }), probe: () => 'unknown' };
}

/** A name no other test uses. */
export function freshName(): string {
  return `k-${randomBytes(6).toString('hex')}`;
}

/** The process's clocks, with a monotonic one that jumps as over a suspended machine, and a wall clock that is set. */
export interface MovableClock extends Clock {
  readonly slept: (ms: number) => void;
  readonly setWall: (aheadMs: number) => void;
}

export function movableClock(): MovableClock {
  let asleep = 0;
  let ahead = 0;
  return {
    monotonic: () => performance.now() + asleep,
    wall: () => Date.now() + ahead,
    slept: (ms) => void (asleep += ms),
    setWall: (aheadMs) => void (ahead = aheadMs),
  };
}

/** Runs something in an async path that holds nothing, as of another caller. */
export const apart: <T>(request: () => T) => T = AsyncLocalStorage.snapshot();
