import { LockStorageError } from '../shared/errors.js';
import { poolConfig, type LockConnection } from './connection-settings.js';
import type { Lane } from './lanes.js';
import { LockPool } from './lock-pool.js';
import { retrying } from '../shared/retry.js';
import { recoveryTime } from './schema.js';
import type { Session } from './session.js';
import { statementsFor, type Statements } from './statements.js';
import { readLongestLease, recordLease } from './table-lease.js';
import { setUpTable, type LockTableFacts, type TableOptions } from './table-setup.js';

/** The table once it has been found or made: its texts and its facts. */
export interface TableInUse {
  readonly sql: Statements;
  readonly facts: LockTableFacts;
}

type Work<T> = (session: Session, table: TableInUse) => Promise<T>;

/** Opens the table before its first use, and runs pieces of work on it. */
export class OpenTable {
  readonly #connection: LockConnection;
  readonly #options: TableOptions;
  #opening: Promise<TableInUse> | undefined;
  #pool: LockPool | undefined;
  #longestLease: number;

  /** @throws LockConfigError when `connection` is no MySQL connection */
  constructor(connection: LockConnection, options: TableOptions) {
    poolConfig(connection);
    this.#connection = connection;
    this.#options = options;
    this.#longestLease = options.lease;
  }

  /** Milliseconds. */
  get longestLease(): number {
    return this.#longestLease;
  }

  async open(): Promise<void> {
    await this.#open();
  }

  /** Runs a piece of work once: its errors mean that its outcome is unknown. @throws LockStorageError */
  async once<T>(lane: Lane, work: Work<T>): Promise<T> {
    const table = await this.#open();
    try {
      return await this.#pool!.use(lane, (session) => work(session, table));
    } catch (error) {
      if (error instanceof LockStorageError) await this.#heed(error);
      throw error;
    }
  }

  /** Runs a piece of work that may be repeated. @throws LockStorageError */
  retried<T>(lane: Lane, work: Work<T>): Promise<T> {
    return retrying(() => this.once(lane, work));
  }

  async ensureLease(ms: number): Promise<void> {
    await this.#open();
    if (ms <= this.#longestLease) return;
    this.#longestLease = await this.retried('upkeep', (session) =>
      recordLease(session, this.#options.table, ms),
    );
  }

  /** How long a recovery lasts, in microseconds, as the table itself tells. */
  async recoveryTime(session: Session): Promise<number> {
    return recoveryTime(await readLongestLease(session, this.#options.table));
  }

  unref(): void {
    this.#pool?.unref();
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined);
    await this.#pool?.close();
  }

  async #heed({ trouble }: LockStorageError): Promise<void> {
    // The table was there before: the next use makes it anew, closed until a recovery has passed.
    if (trouble === 'no-table') this.#opening = undefined;
    // A server that takes no writes any more may have a successor.
    if (trouble === 'read-only') await this.#pool?.renew();
  }

  #open(): Promise<TableInUse> {
    this.#opening ??= this.#setUp().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #setUp(): Promise<TableInUse> {
    const config = poolConfig(this.#connection);
    const facts = await this.#findTable(new LockPool({ ...config, pool: { ...config.pool, max: 1 } }));
    this.#longestLease = facts.longestLease;
    this.#pool ??= new LockPool(config, facts.quiet);
    return { facts, sql: statementsFor(this.#options.table, facts.checkServer, facts.checkGroup) };
  }

  async #findTable(pool: LockPool): Promise<LockTableFacts> {
    const mayOpen = this.#pool === undefined;
    try {
      return await retrying(() =>
        pool.use('upkeep', (session) => setUpTable(session, this.#options, mayOpen)),
      );
    } finally {
      await pool.close();
    }
  }
}
