import knex, { type Knex } from 'knex';
import type { Connection } from 'mysql2';
import { STATEMENT_MS } from './lock-store.js';
import { Lanes, type Lane } from './lanes.js';
import { Session } from './session.js';
import { storageError } from './storage-trouble.js';

/** The part of a Knex client that hands out driver connections. */
interface KnexClient {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
}

/**
 * Forced on every session, whatever the server's defaults: each statement commits by itself, waits for others'
 * locks a second at most, and errors are errors.
 */
const SESSION = [
  `SET SESSION autocommit = 1, innodb_lock_wait_timeout = 1, lock_wait_timeout = 1, sql_safe_updates = 0,
    sql_select_limit = 18446744073709551615,
    sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'`,
  'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ',
];
/** The rows of a MEMORY table are useless to replicas and break them; in the log each would cost an fsync, too. */
const QUIET = 'SET SESSION sql_log_bin = 0';

/** Our own small pool: never the user's connections, never inside the user's transactions. */
export class LockPool {
  readonly #config: Knex.Config;
  readonly #lanes: Lanes;
  readonly #connections = new Set<Connection>();
  #knex: Knex;
  #unref = false;

  /** @param quiet keep our writes out of the binary log */
  constructor(config: Knex.Config, quiet = false) {
    this.#config = { ...config, pool: { ...config.pool, afterCreate: this.#prepare(quiet) } };
    this.#lanes = new Lanes(config.pool?.max ?? 1);
    this.#knex = knex(this.#config);
  }

  /** Runs a piece of work on a connection of its own. @throws LockStorageError */
  async use<T>(lane: Lane, work: (session: Session) => Promise<T>): Promise<T> {
    const leave = await this.#lanes.enter(lane);
    try {
      return await this.#borrow(work);
    } finally {
      leave();
    }
  }

  /** Drops every connection, so that the next ones find the server that is the primary now. */
  async renew(): Promise<void> {
    const old = this.#knex;
    this.#knex = knex(this.#config);
    await old.destroy();
  }

  /** From now on the pool's sockets do not keep the process alive. */
  unref(): void {
    this.#unref = true;
    for (const connection of this.#connections) unrefSocket(connection);
  }

  async close(): Promise<void> {
    await this.#knex.destroy();
  }

  async #borrow<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const client = this.#knex.client as KnexClient;
    const connection = await client.acquireConnection().catch((error: unknown) => {
      throw storageError(error);
    });
    try {
      return await work(new Session(connection, STATEMENT_MS));
    } finally {
      await client.releaseConnection(connection);
    }
  }

  #prepare(quiet: boolean) {
    return (connection: Connection, done: (error: unknown, connection: Connection) => void): void => {
      this.#connections.add(connection);
      connection.once('end', () => this.#connections.delete(connection));
      if (this.#unref) unrefSocket(connection);
      const session = new Session(connection, STATEMENT_MS);
      prepare(session, quiet).then(
        () => done(null, connection),
        (error: unknown) => {
          // Knex forgets a connection whose preparation failed, and would leave it open.
          connection.destroy();
          done(error, connection);
        },
      );
    };
  }
}

async function prepare(session: Session, quiet: boolean): Promise<void> {
  for (const statement of SESSION) await session.run(statement);
  if (quiet) await session.run(QUIET);
}

function unrefSocket(connection: Connection): void {
  (connection as unknown as { stream: { unref?(): void } }).stream.unref?.();
}
