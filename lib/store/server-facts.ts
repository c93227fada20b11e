import { LockStorageError } from '../shared/errors.js';
import type { Session } from './session.js';

/** What the choice of an engine depends on. */
export interface ServerFacts {
  /** Writes go to a binary log. */
  readonly logsWrites: boolean;
  /** This user may keep a session's writes out of it. */
  readonly canBeQuiet: boolean;
  /** A member of Group Replication or Galera. */
  readonly cluster: boolean;
  /** A member of Group Replication. */
  readonly inGroup: boolean;
  /** Every member takes writes: there is no single server id. */
  readonly multiPrimary: boolean;
}

const UNKNOWN_VARIABLE = 1193;

export async function serverFacts(session: Session): Promise<ServerFacts> {
  const group = await variable(session, 'group_replication_group_name');
  const galera = Number(await variable(session, 'wsrep_on')) === 1;
  const singlePrimary = Number(await variable(session, 'group_replication_single_primary_mode')) === 1;
  const inGroup = group !== null && group !== '';
  const logsWrites = Number(await variable(session, 'log_bin')) === 1;
  return {
    logsWrites,
    canBeQuiet: logsWrites && (await canBeQuiet(session)),
    inGroup,
    cluster: galera || inGroup,
    multiPrimary: galera || (inGroup && !singlePrimary),
  };
}

/** A system variable's value; null on a server that has none of that name. */
async function variable(session: Session, name: string): Promise<string | number | null> {
  try {
    const [row] = await session.read(`SELECT @@${name} AS value`);
    return (row?.value as string | number | null) ?? null;
  } catch (error) {
    if (numberOf(error) === UNKNOWN_VARIABLE) return null;
    throw error;
  }
}

/** Asked by doing it: the privilege has another name on each server and version. */
async function canBeQuiet(session: Session): Promise<boolean> {
  try {
    await session.run('SET SESSION sql_log_bin = 0');
  } catch (error) {
    if (error instanceof LockStorageError && error.trouble === 'refused') return false;
    throw error;
  }
  await session.run('SET SESSION sql_log_bin = 1');
  return true;
}

function numberOf(error: unknown): number | undefined {
  return ((error as Error).cause as { errno?: number } | undefined)?.errno;
}
