import { randomBytes } from 'node:crypto';
import type { Grant } from '../../lib/core/hold.js';
import { ownIdentity } from '../../lib/process/own-identity.js';
import type { LockRow, Snapshot } from '../../lib/store/lock-store.js';
import { rowId } from '../../lib/store/lock-store.js';

/** A granted lock, as the store answers it. */
export function grant(more: Partial<Grant> = {}): Grant {
  const { name = 'k' } = more;
  return {
    ...{ name, key: Buffer.from(`g:${name}`), token: randomBytes(16), scope: 'global', label: '' },
    ...{ leaseMs: 3_000, fencing: 1, sentAt: 0 },
    ...more,
  };
}

/** A row as it is read back. */
export function lockRow(more: Partial<LockRow> = {}): LockRow {
  return {
    ...{
      key: Buffer.from('g:k'),
      token: Buffer.alloc(16, 1),
      instance: Buffer.alloc(16, 2),
      owner: ownIdentity(),
    },
    ...{ label: '', lease: 3_000_000, beat: 0, witnessed: true, serverId: 0, fencing: 1 },
    ...{ acquiredAt: 1_000_000, renewedAt: 1_000_000, expiresAt: 4_000_000 },
    ...more,
  };
}

/** One look at the table. */
export function snapshot(more: Partial<Snapshot> & { row?: LockRow } = {}): Snapshot {
  const { row, ...rest } = more;
  return {
    ...{ sentAt: 0, receivedAt: 0, now: 0, sameServer: true, sentinel: null },
    rows: new Map(row ? [[rowId(row.key), row]] : []),
    ...rest,
  };
}
