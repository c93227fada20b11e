import { createHash } from 'node:crypto';
import { LockConfigError, LockStorageError } from '../shared/errors.js';
import type { LockLogger } from '../shared/types.js';
import { chooseEngine, engineFallback, type EngineChoice } from './engine.js';
import { checkColumns, createLockTableSql, longestLeaseOf, tableComment } from './schema.js';
import { serverFacts, type ServerFacts } from './server-facts.js';
import { bytes } from './rows.js';
import type { Session } from './session.js';

export interface TableOptions {
  readonly table: string;
  /** `'auto'`, `'memory'`, `'innodb'`, or any engine's name. */
  readonly engine: string;
  readonly createTable: boolean;
  /** Milliseconds. */
  readonly lease: number;
  readonly logger: LockLogger;
}

/** The table as it stands. */
export interface LockTableFacts {
  readonly engine: string;
  readonly longestLease: number;
  /** Our sessions keep their writes out of the binary log. */
  readonly quiet: boolean;
  /** The sentinel must carry the answering server's id. */
  readonly checkServer: boolean;
}

interface FoundTable {
  engine: string;
  comment: string;
}

const TABLE_EXISTS = 1050;
const SETUP_LOCK_S = 10;

/**
 * Finds the lock table, or makes it, and reads back what is really there.
 * @param mayOpen whether a table made here may be opened for grants at once. Not where this process has used the table
 *   before: then it was lost, and its holders may live.
 * @throws LockConfigError for a table that is missing or not ours
 */
export async function setUpTable(
  session: Session,
  options: TableOptions,
  mayOpen: boolean,
): Promise<LockTableFacts> {
  const facts = await serverFacts(session);
  const found =
    (await findTable(session, options.table)) ?? (await createTable(session, options, facts, mayOpen));
  longestLeaseOf(options.table, found.comment);
  checkColumns(options.table, await columnsOf(session, options.table));
  await waitForFirstRow(session, options.table);
  const longestLease = await recordLease(session, options.table, options.lease, found.comment);
  const isMemory = found.engine.toLowerCase() === 'memory';
  report(found.engine, options, facts);
  return {
    engine: found.engine,
    longestLease,
    quiet: isMemory && facts.logsWrites && facts.canBeQuiet,
    checkServer: !facts.multiPrimary,
  };
}

async function findTable(session: Session, table: string): Promise<FoundTable | null> {
  const [row] = await session.read(
    `SELECT ENGINE AS engine, TABLE_COMMENT AS comment FROM information_schema.TABLES
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?`,
    [bytes(table)],
  );
  return row ? { engine: String(row.engine), comment: String(row.comment) } : null;
}

async function columnsOf(session: Session, table: string): Promise<Map<string, string>> {
  const rows = await session.read(
    `SELECT COLUMN_NAME AS name, COLUMN_TYPE AS type FROM information_schema.COLUMNS
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?`,
    [bytes(table)],
  );
  return new Map(rows.map((row) => [String(row.name), String(row.type)]));
}

async function createTable(
  session: Session,
  options: TableOptions,
  facts: ServerFacts,
  mayOpen: boolean,
): Promise<FoundTable> {
  const { table } = options;
  if (!options.createTable) {
    throw new LockConfigError(
      `Table '${table}' does not exist and createTable is false: run createLockTableSql({ table: '${table}' }) first.`,
    );
  }
  return await underSetupLock(session, table, async () => {
    const found = await findTable(session, table);
    if (found) return found;
    await createWith(session, options, chooseEngine(options.engine, facts), facts, mayOpen);
    return (await findTable(session, table))!;
  });
}

/** A table without its first row may be one that another process is just making. */
async function waitForFirstRow(session: Session, table: string): Promise<void> {
  const rows = await session.read(`SELECT 1 FROM \`${table}\` WHERE lock_key = ''`);
  if (rows.length === 0) await underSetupLock(session, table, () => Promise.resolve());
}

/** Down the ladder: where MEMORY turns out not to work, the table becomes InnoDB. */
async function createWith(
  session: Session,
  options: TableOptions,
  choice: EngineChoice,
  facts: ServerFacts,
  mayOpen: boolean,
): Promise<void> {
  const [create, open] = createLockTableSql({
    table: options.table,
    engine: choice.engine,
    longestLease: options.lease,
  });
  try {
    await session.run(create);
    await writeFirstRow(session, open, choice, facts, options.table, mayOpen);
  } catch (error) {
    if (errnoOf(error) === TABLE_EXISTS) return;
    const fallback = engineFallback(choice, error);
    if (!fallback) throw error;
    options.logger.log(
      `Engine ${choice.engine} is not available for table '${options.table}': ${(error as Error).message}`,
    );
    await createWith(session, options, fallback, facts, mayOpen);
  }
}

/** The first row proves that the engine takes writes; it is the sentinel, which opens the table. */
async function writeFirstRow(
  session: Session,
  open: string,
  choice: EngineChoice,
  facts: ServerFacts,
  table: string,
  mayOpen: boolean,
): Promise<void> {
  if (!mayOpen) return;
  const isQuiet = choice.engine === 'MEMORY' && facts.logsWrites && facts.canBeQuiet;
  if (isQuiet) await session.run('SET SESSION sql_log_bin = 0');
  try {
    await session.write(open);
  } catch (error) {
    if (engineFallback(choice, error)) await session.run(`DROP TABLE \`${table}\``);
    throw error;
  } finally {
    if (isQuiet) await session.run('SET SESSION sql_log_bin = 1');
  }
}

/**
 * Raises the longest lease that the table's comment tells of; a recovery has to last that long.
 * @returns the longest lease in use, in milliseconds
 */
export async function recordLease(
  session: Session,
  table: string,
  lease: number,
  comment?: string,
): Promise<number> {
  if (comment !== undefined && longestLeaseOf(table, comment) >= lease) return longestLeaseOf(table, comment);
  return await underSetupLock(session, table, async () => {
    const recorded = await readLongestLease(session, table);
    if (recorded >= lease) return recorded;
    await alterComment(session, table, lease);
    return lease;
  });
}

/** @throws LockConfigError */
export async function readLongestLease(session: Session, table: string): Promise<number> {
  const found = await findTable(session, table);
  if (!found) throw new LockConfigError(`Table '${table}' does not exist any more.`);
  return longestLeaseOf(table, found.comment);
}

async function alterComment(session: Session, table: string, lease: number): Promise<void> {
  const alter = `ALTER TABLE \`${table}\` COMMENT = '${tableComment(lease)}'`;
  try {
    await session.run(alter);
  } catch (error) {
    if (!(error instanceof LockStorageError) || error.trouble !== 'refused') throw error;
    throw new LockConfigError(
      `A lease of ${lease} ms is longer than table '${table}' records, and it could not be raised here. Run: ${alter}`,
      undefined,
      { cause: error },
    );
  }
}

/** One at a time on the server, so that nobody meets a table between its creation and its first row. */
async function underSetupLock<T>(session: Session, table: string, work: () => Promise<T>): Promise<T> {
  const [row] = await session.read('SELECT DATABASE() AS db');
  const name = createHash('sha256')
    .update(`interlock:${String(row?.db)}.${table}`)
    .digest('hex')
    .slice(0, 48);
  await session.read('SELECT GET_LOCK(?, ?)', [bytes(name), SETUP_LOCK_S]);
  try {
    return await work();
  } finally {
    await session.read('SELECT RELEASE_LOCK(?)', [bytes(name)]);
  }
}

function errnoOf(error: unknown): number | undefined {
  return ((error as Error).cause as { errno?: number } | undefined)?.errno;
}

function report(engine: string, { engine: wanted, table, logger }: TableOptions, facts: ServerFacts): void {
  const isMemory = engine.toLowerCase() === 'memory';
  logger.log(`Locks are kept in table '${table}', engine ${engine}.`);
  if (wanted !== 'auto' && wanted.toLowerCase() !== engine.toLowerCase()) {
    logger.warn(`Engine ${wanted} was asked for; table '${table}' is kept with its engine ${engine}.`);
  }
  if (isMemory && facts.logsWrites && !facts.canBeQuiet) {
    logger.warn(
      `Table '${table}' is a MEMORY table on a server with a binary log: each lock costs a log sync, and replicas stop. ` +
        'Grant SESSION_VARIABLES_ADMIN (MySQL) or BINLOG ADMIN (MariaDB), or use engine innodb.',
    );
  }
  if (isMemory && facts.cluster) {
    logger.warn(
      `Table '${table}' is a MEMORY table on a cluster, where it cannot exclude holders on other members. Use engine innodb.`,
    );
  }
}
