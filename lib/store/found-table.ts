import { createHash } from 'node:crypto';
import { bytes } from './rows.js';
import type { Session } from './session.js';

const SETUP_LOCK_S = 10;

/** What the server says of a table that is there. */
export interface FoundTable {
  readonly engine: string;
  readonly comment: string;
}

/** Null when there is no such table in the current database. */
export async function findTable(session: Session, table: string): Promise<FoundTable | null> {
  const [row] = await session.read(
    `SELECT ENGINE AS engine, TABLE_COMMENT AS comment FROM information_schema.TABLES
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?`,
    [bytes(table)],
  );
  return row ? { engine: String(row.engine), comment: String(row.comment) } : null;
}

/** The types of its columns by name. */
export async function columnsOf(session: Session, table: string): Promise<Map<string, string>> {
  const rows = await session.read(
    `SELECT COLUMN_NAME AS name, COLUMN_TYPE AS type FROM information_schema.COLUMNS
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?`,
    [bytes(table)],
  );
  return new Map(rows.map((row) => [String(row.name), String(row.type)]));
}

/** One at a time on the server, so that nobody meets a table between its creation and its first row. */
export async function underSetupLock<T>(session: Session, table: string, work: () => Promise<T>): Promise<T> {
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
