import { keyOf, nameOf, checkName } from '../shared/lock-name.js';
import { checkScope, expected } from '../shared/acquire-options.js';
import type { LockInfo, LockScope } from '../shared/types.js';
import { NEVER, rowId, type LockRow, type LockStore, type Snapshot } from '../store/lock-store.js';
import type { Probe } from './judge.js';
import type { Self } from './self.js';

/** Which locks to list. */
export interface ListFilter {
  /** Names that begin with this. */
  prefix?: string;
  scope?: LockScope;
  /** The owner's host name. */
  host?: string;
  pid?: number;
}

const TOKEN = /^[0-9a-f]{32}$/i;

/** The locks for people: shows them, and lets an operator free one. */
export class LockTable {
  readonly #store: LockStore;
  readonly #probe: Probe;
  readonly #self: Self;

  constructor(store: LockStore, probe: Probe, self: Self) {
    this.#store = store;
    this.#probe = probe;
    this.#self = self;
  }

  /** Every lock that is held, by name. A lock whose lease has ended counts as free. */
  async list(filter: ListFilter = {}): Promise<LockInfo[]> {
    const snapshot = await this.#store.scan();
    const locks = [...snapshot.rows.values()].flatMap((row) => this.#infoOf(row, snapshot) ?? []);
    return locks
      .filter((info) => matches(info, filter))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** One lock; null when it is free. A local lock is the one of this host. @throws LockNameError */
  async inspect(name: string, { scope = 'global' }: { scope?: LockScope } = {}): Promise<LockInfo | null> {
    const key = this.#keyOf(name, scope);
    const snapshot = await this.#store.look([key]);
    const row = snapshot.rows.get(rowId(key));
    return row ? this.#infoOf(row, snapshot, name) : null;
  }

  /**
   * Frees a lock whoever holds it, if it still carries this token: never somebody newer's lock. Its holder learns of it
   * at its next renewal, and overlaps with the next one until then.
   * @returns whether it did
   * @throws LockNameError, LockConfigError
   */
  async forceRelease(
    name: string,
    { scope = 'global', token }: { scope?: LockScope; token: string },
  ): Promise<boolean> {
    const key = this.#keyOf(name, scope);
    if (typeof token !== 'string') throw expected('token to be a string', token);
    if (!TOKEN.test(token)) return false;
    const [isFreed] = await this.#store.free([{ key, token: Buffer.from(token, 'hex') }]);
    return isFreed!;
  }

  #keyOf(name: string, scope: LockScope): Buffer {
    checkName(name);
    checkScope(scope);
    return keyOf(name, scope, this.#self.owner.hostKey);
  }

  #infoOf(row: LockRow, { now }: Snapshot, fullName?: string): LockInfo | null {
    const stored = nameOf(row.key);
    if (!stored || row.expiresAt <= now) return null;
    const { host, pid, thread, started } = row.owner;
    return {
      ...{ name: fullName ?? stored.name, scope: stored.scope },
      ...{ token: row.token.toString('hex'), fencingToken: row.fencing },
      ...{ host, pid, thread, startedAt: started, label: row.label },
      acquiredAt: dateOf(row.acquiredAt),
      expiresAt: row.expiresAt === NEVER ? null : dateOf(row.expiresAt),
      alive: this.#probe(row.owner),
      mine: row.instance.equals(this.#self.instance),
    };
  }
}

function dateOf(microseconds: number): Date {
  return new Date(microseconds / 1_000);
}

function matches(info: LockInfo, { prefix, scope, host, pid }: ListFilter): boolean {
  return (
    (prefix === undefined || info.name.startsWith(prefix)) &&
    (scope === undefined || info.scope === scope) &&
    (host === undefined || info.host === host) &&
    (pid === undefined || info.pid === pid)
  );
}
