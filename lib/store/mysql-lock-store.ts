import type { Clock } from '../shared/clock.js';
import { LockStorageError } from '../shared/errors.js';
import type { LockConnection } from './connection-settings.js';
import type {
  Claim,
  LockStore,
  ReclaimRequest,
  RecoveryRequest,
  RenewReply,
  Seen,
  Snapshot,
  TakeReply,
  TakeRequest,
  Testify,
  Testimony,
} from './lock-store.js';
import { OpenTable, type TableInUse } from './open-table.js';
import { bytes, fixedEnd, ownerValues, SENTINEL, snapshotOf, type Times } from './rows.js';
import type { Row, Session, Value } from './session.js';
import { changedNothing } from './storage-trouble.js';
import type { TableOptions } from './table-setup.js';
import { takeLocks } from './take.js';

/** The lock table on MySQL or MariaDB. */
export class MysqlLockStore implements LockStore {
  readonly #table: OpenTable;
  readonly #clock: Clock;

  /** @throws LockConfigError when `connection` is no MySQL connection */
  constructor(connection: LockConnection, options: TableOptions, clock: Clock) {
    this.#table = new OpenTable(connection, options);
    this.#clock = clock;
  }

  get longestLease(): number {
    return this.#table.longestLease;
  }

  open(): Promise<void> {
    return this.#table.open();
  }

  ensureLease(ms: number): Promise<void> {
    return this.#table.ensureLease(ms);
  }

  take(requests: readonly TakeRequest[], testify: Testify): Promise<TakeReply[]> {
    return this.#table.once('take', (session, { sql }) =>
      takeLocks(session, sql, requests, testify, this.#clock),
    );
  }

  reclaim(requests: readonly ReclaimRequest[], testify: Testify): Promise<number> {
    return this.#table.once('upkeep', async (session, { sql }) => {
      const sentAt = this.#clock.monotonic();
      for (const request of requests) await session.write(sql.reclaim, reclaimValues(request, testify()));
      return sentAt;
    });
  }

  look(keys: readonly Buffer[]): Promise<Snapshot> {
    return this.#table.retried('take', (session, table) => this.#look(session, table, keys));
  }

  renew(claims: readonly Claim[], beat: number, testify: Testify): Promise<RenewReply> {
    const { keys, tokens } = sorted(claims);
    return this.#table.once('upkeep', async (session, table) => {
      const { expected, slack } = testify();
      const renewSentAt = this.#clock.monotonic();
      await session.write(table.sql.renew, [beat, expected, slack, keys, tokens, beat]);
      return { renewSentAt, snapshot: await this.#look(session, table, keys) };
    });
  }

  async free(claims: readonly Claim[]): Promise<boolean[]> {
    const freed: boolean[] = [];
    for (const { key, token } of claims)
      freed.push(await this.#changesOne(({ sql }) => sql.free, [key, token]));
    return freed;
  }

  freeSeen(key: Buffer, { token, beat }: Seen): Promise<boolean> {
    return this.#changesOne(({ sql }) => sql.freeSeen, [key, token, beat]);
  }

  async freeAll(claims: readonly Claim[]): Promise<number> {
    if (claims.length === 0) return 0;
    const { keys, tokens } = sorted(claims);
    const { affectedRows } = await this.#upkeep((session, { sql }) =>
      session.write(sql.freeAll, [keys, tokens]),
    );
    return affectedRows;
  }

  scan(): Promise<Snapshot> {
    return this.#upkeep((session, table) => this.#snapshot(session, table, table.sql.scan, []));
  }

  async prune(freeFor: number, limit: number): Promise<number> {
    const rows = await this.#upkeep((session, { sql }) => session.read(sql.prunable, [freeFor, limit]));
    let pruned = 0;
    for (const row of rows) pruned += await this.#pruneOne(row, freeFor);
    return pruned;
  }

  beginRecovery(request: RecoveryRequest, testify: Testify): Promise<void> {
    return this.#upkeep(async (session, { sql }) => {
      const lease = await this.#table.recoveryTime(session);
      const { expected, slack } = testify();
      const values = [
        request.token,
        ...ownerValues(request),
        lease,
        expected,
        slack,
        lease,
        request.floor,
        lease,
      ];
      await session.write(sql.beginRecovery, [...values, request.seen]);
    });
  }

  async endRecovery({ token, beat }: Seen): Promise<void> {
    await this.#upkeep((session, { sql }) => session.write(sql.endRecovery, [token, beat]));
  }

  unref(): void {
    this.#table.unref();
  }

  close(): Promise<void> {
    return this.#table.close();
  }

  /**
   * A change of one row under its guard. When an earlier try broke off, its outcome was unknown: a later one that
   * finds nothing left to do counts as done.
   */
  async #changesOne(sql: (table: TableInUse) => string, values: readonly Value[]): Promise<boolean> {
    let isUnknown = false;
    const { affectedRows } = await this.#upkeep(async (session, table) => {
      try {
        return await session.write(sql(table), values);
      } catch (error) {
        isUnknown ||= !(error instanceof LockStorageError && changedNothing(error));
        throw error;
      }
    });
    return affectedRows > 0 || isUnknown;
  }

  #pruneOne({ lock_key: key, fencing }: Row, freeFor: number): Promise<number> {
    return this.#upkeep(async (session, { sql }) => {
      await session.write(sql.raiseFloor, [fencing as number]);
      return (await session.write(sql.prune, [key as Buffer, fencing as number, freeFor])).affectedRows;
    });
  }

  #look(session: Session, table: TableInUse, keys: readonly Buffer[]): Promise<Snapshot> {
    return this.#snapshot(session, table, table.sql.look, [[SENTINEL, ...keys]]);
  }

  async #snapshot(
    session: Session,
    table: TableInUse,
    sql: string,
    values: readonly Value[],
  ): Promise<Snapshot> {
    const times: Times = { sentAt: this.#clock.monotonic(), receivedAt: 0 };
    const rows = await session.read(sql, values);
    times.receivedAt = this.#clock.monotonic();
    return snapshotOf(rows, times, table.facts.checkServer);
  }

  #upkeep<T>(work: (session: Session, table: TableInUse) => Promise<T>): Promise<T> {
    return this.#table.retried('upkeep', work);
  }
}

function reclaimValues(request: ReclaimRequest, { expected, slack }: Testimony): Value[] {
  return [
    ...[
      request.key,
      request.token,
      ...ownerValues(request),
      bytes(request.label),
      request.lease,
      request.beat,
    ],
    ...[expected, slack, request.lease, request.fencing, request.acquiredAt],
    ...[fixedEnd(request), request.lease, request.floor],
  ];
}

/** Statements on many rows go through them in one order, or they deadlock. */
function sorted(claims: readonly Claim[]): { keys: Buffer[]; tokens: Buffer[] } {
  const inOrder = [...claims].sort((one, other) => Buffer.compare(one.key, other.key));
  return { keys: inOrder.map(({ key }) => key), tokens: inOrder.map(({ token }) => token) };
}
