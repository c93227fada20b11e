import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll } from 'vitest';
import driver, { type Connection } from 'mysql2';
import { ownIdentity } from '../../lib/process/own-identity.js';
import { systemClock } from '../../lib/shared/clock.js';
import type { TakeReply, TakeRequest, Testimony } from '../../lib/store/lock-store.js';
import { bytes } from '../../lib/store/rows.js';
import { createLockTableSql, NOW } from '../../lib/store/schema.js';
import { Session, type Row, type Value } from '../../lib/store/session.js';
import { statementsFor, type Statements } from '../../lib/store/statements.js';
import { takeLocks } from '../../lib/store/take.js';
import type { Cell } from './matrix.js';
import { freshDatabase } from './servers.js';

export const SECOND = 1_000_000;
export const LEASE = 30 * SECOND;

/** A lock table and its statements, without a service around them. */
export interface StatementBench {
  /** Makes a table; open for grants. */
  readonly make: (engine?: string) => Promise<{ table: string; sql: Statements }>;
  readonly session: () => Session;
  readonly now: () => Promise<number>;
  readonly row: (table: string, key: Buffer) => Promise<Row | undefined>;
  /** Writes columns of a row. */
  readonly set: (table: string, key: Buffer, columns: Record<string, Value>) => Promise<void>;
  /** One take of a key that is not used yet, as by a process whose clock is right unless told otherwise. */
  readonly take: (
    sql: Statements,
    request: TakeRequest,
    testimony?: Partial<Testimony>,
  ) => Promise<TakeReply>;
}

/** To be called inside a describe. @param flags of the driver's connection, like `-FOUND_ROWS` */
export function statementBench(cell: Cell, flags: string[] = []): StatementBench {
  let database: { url: string; drop(): Promise<void> };
  let connection: Connection;
  let session: Session;
  beforeAll(async () => {
    database = await freshDatabase(cell.url);
    connection = driver.createConnection({
      uri: database.url,
      charset: 'utf8mb4',
      flags,
      supportBigNumbers: true,
    });
    session = new Session(connection, 30_000);
  });
  afterAll(async () => {
    connection.end();
    await once(connection, 'end');
    await database.drop();
  });
  const now = async () => Number((await session.read(`SELECT ${NOW} AS now`))[0]!.now);
  return {
    session: () => session,
    now,
    make: async (engine = cell.engine) => {
      const table = `locks_${randomBytes(6).toString('hex')}`;
      const [create, open] = createLockTableSql({ table, engine });
      await session.run(create);
      await session.write(open);
      return { table, sql: statementsFor(table, true) };
    },
    row: async (table, key) =>
      (await session.read(`SELECT * FROM \`${table}\` WHERE lock_key = ?`, [key]))[0],
    set: async (table, key, columns) => {
      const names = Object.keys(columns);
      await session.write(
        `UPDATE \`${table}\` SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE lock_key = ?`,
        [...Object.values(columns), key],
      );
    },
    take: async (sql, request, testimony = {}) => {
      const { expected = await now(), slack = 0 } = testimony;
      const replies = await takeLocks(session, sql, [request], () => ({ expected, slack }), systemClock);
      return replies[0]!;
    },
  };
}

/** What one service asks for, under a token of its own. */
export function takeRequest(name: string, more: Partial<TakeRequest> = {}): TakeRequest {
  return {
    ...{ key: bytes(`g:${name}`), token: randomBytes(16), instance: randomBytes(16), owner: ownIdentity() },
    ...{ scope: 'global', label: 'a label', lease: LEASE, floor: 0 },
    ...more,
  };
}
