import { LockConfigError } from '../shared/errors.js';
import type { LockLogger } from '../shared/types.js';
import { chooseEngine, engineFallback, type EngineChoice } from './engine.js';
import { checkColumns, createLockTableSql, longestLeaseOf } from './schema.js';
import { columnsOf, findTable, underSetupLock, type FoundTable } from './found-table.js';
import { recordLease } from './table-lease.js';
import { serverFacts, type ServerFacts } from './server-facts.js';
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
  /** The answering server must be online in its replication group. */
  readonly checkGroup: boolean;
}

const TABLE_EXISTS = 1050;

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
    checkGroup: facts.inGroup,
  };
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
