import { NEVER, rowId, type LockRow, type Snapshot, type TakeRequest } from './lock-store.js';
import type { Row, Value } from './session.js';

/** The sentinel's key; no lock has it. */
export const SENTINEL = Buffer.alloc(0);

/** When a statement was sent and answered, by the monotonic clock. */
export interface Times {
  sentAt: number;
  receivedAt: number;
}

/** Reads a result of `look` or `scan`: one row a lock, or a single one without a lock that only tells the time. */
export function snapshotOf(rows: readonly Row[], times: Times, checkServer: boolean): Snapshot {
  const first = rows[0]!;
  const locks = rows.filter((row) => row.lock_key !== null).map(lockRow);
  const sentinel = locks.find((row) => row.key.length === 0) ?? null;
  const others = locks.filter((row) => row !== sentinel);
  return {
    ...times,
    now: Number(first.db_now),
    sameServer: !checkServer || sentinel?.serverId === Number(first.this_server),
    sentinel,
    rows: new Map(others.map((row) => [rowId(row.key), row])),
  };
}

function lockRow(row: Row): LockRow {
  return {
    key: row.lock_key as Buffer,
    token: row.token as Buffer,
    instance: row.instance as Buffer,
    owner: {
      hostKey: row.host_key as Buffer,
      host: String(row.host),
      pid: Number(row.pid),
      thread: Number(row.thread),
      started: String(row.started),
    },
    label: String(row.label),
    lease: Number(row.lease),
    beat: Number(row.beat),
    witnessed: Number(row.witnessed) === 1,
    serverId: Number(row.server_id),
    fencing: Number(row.fencing),
    acquiredAt: Number(row.acquired_at),
    renewedAt: Number(row.renewed_at),
    expiresAt: Number(row.expires_at),
  };
}

/** The values of the columns `instance` to `started`: who. */
export function ownerValues({ instance, owner }: Pick<TakeRequest, 'instance' | 'owner'>): Value[] {
  return [instance, owner.hostKey, bytes(owner.host), owner.pid, owner.thread, bytes(owner.started)];
}

/** `expires_at` where it does not depend on the clock: of a local lock. */
export function fixedEnd({ scope }: Pick<TakeRequest, 'scope'>): number | null {
  return scope === 'local' ? NEVER : null;
}

/** Text goes to the server as bytes: no character set or escaping mode of a session can change it. */
export function bytes(text: string): Buffer {
  return Buffer.from(text);
}
