import { LockConfigError, LockStorageError } from '../shared/errors.js';
import { findTable, underSetupLock } from './found-table.js';
import { longestLeaseOf, recoveryTime, tableComment } from './schema.js';
import type { Session } from './session.js';

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
    // Beside the comment, for those who look at rows: they remember jumps of the clock for as long.
    await session.write(`UPDATE \`${table}\` SET lease = GREATEST(lease, ?) WHERE lock_key = ''`, [
      recoveryTime(lease),
    ]);
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
