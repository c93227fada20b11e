import type { Knex } from 'knex';
import type { Duration } from '../shared/duration.js';

/** How one lock service reaches its table and what its locks are like unless an acquisition says otherwise. */
export interface LockModuleOptions {
  /**
   * The database that keeps the lock table: a URL like `mysql://user:password@host:3306/name`, or a Knex configuration
   * with the client `mysql2`. The library opens a small pool of its own there.
   *
   * A Knex instance may be given too. It stays yours: only its connection settings are read, it is never queried and
   * never destroyed, and no lock ever takes part in one of its transactions.
   */
  connection: string | Knex.Config | Knex;
  /**
   * The storage engine of the lock table. `'auto'` takes MEMORY where the server allows it and really creates it, else
   * InnoDB. Any other name is obeyed as it is, with a warning when it is a bad idea.
   * @default 'auto'
   */
  engine?: 'auto' | 'memory' | 'innodb' | (string & {}) | undefined;
  /**
   * The name of the lock table. Services that share locks share the database and this name.
   * @default 'locks'
   */
  table?: string | undefined;
  /**
   * Whether to create the table when it is missing. With `false` a missing table is an error at boot.
   * @default true
   */
  createTable?: boolean | undefined;
  /**
   * How long a lock outlives its last renewal, 100 ms to 24 h; a number is milliseconds. Renewal is automatic, every
   * third of it. Locks whose owner died on another host are free after at most this time.
   * @default '30s'
   */
  lease?: Duration | undefined;
  /**
   * How long an acquisition waits for a lock that is held; a number is milliseconds. `0` and `false` are exactly one
   * try; only `Infinity` waits for ever.
   * @default '10s'
   */
  wait?: Duration | false | undefined;
  /**
   * The sweep that frees what dead owners of this host held, from bootstrap to shutdown; `false` turns it off. Waiters
   * find dead owners by themselves, also without it.
   * @default { every: '5s' }
   */
  reaper?: LockReaperOptions | false | undefined;
  /**
   * How long a shutdown waits for running work before it goes on; a number is milliseconds. Work that takes longer
   * keeps its lock until the process is gone.
   * @default '10s'
   */
  drain?: Duration | undefined;
}

/** When the reaper works. */
export interface LockReaperOptions {
  /**
   * The time from the end of one sweep to the next; a number is milliseconds.
   * @default '5s'
   */
  every?: Duration;
}

/** A provider that `LockModule.forRootAsync({ useClass })` or `({ useExisting })` asks for the options. */
export interface LockOptionsFactory {
  createLockOptions(): LockModuleOptions | Promise<LockModuleOptions>;
}
