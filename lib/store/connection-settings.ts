import type { Knex } from 'knex';
import { LockConfigError } from '../shared/errors.js';

/** A database, as users name it: a URL, a Knex configuration, or a Knex whose settings are read and which is left alone. */
export type LockConnection = string | Knex.Config | Knex;

/** Connections of our own pool unless the configuration says otherwise: few, since batches beat many single writers. */
const POOL_SIZE = 4;
const CONNECT_TIMEOUT_MS = 5_000;
/** Settings that would change the shape of results, or of what is sent. */
const OURS = {
  charset: 'utf8mb4',
  multipleStatements: false,
  namedPlaceholders: false,
  rowsAsArray: false,
  typeCast: true,
  supportBigNumbers: true,
  bigNumberStrings: false,
};

/** Knex prints what it also throws: our callers get errors, not lines on their console. */
const SILENT = { debug() {}, warn() {}, error() {}, deprecate() {} };

type Settings = Record<string, unknown>;

/**
 * The configuration of our own pool.
 * @throws LockConfigError when this is no MySQL connection that can be opened again
 */
export function poolConfig(connection: LockConnection): Knex.Config {
  if (typeof connection === 'string') return configOf({ connection }, POOL_SIZE);
  if (isKnex(connection)) return configOf((connection.client as { config: Knex.Config }).config, POOL_SIZE);
  if (connection === null || typeof connection !== 'object') {
    throw new LockConfigError(
      `Expected connection to be a URL, a Knex configuration or a Knex and got ${String(connection)}.`,
    );
  }
  return configOf(connection, connection.pool?.max ?? POOL_SIZE);
}

function isKnex(value: Knex.Config | Knex): value is Knex {
  return typeof value === 'function' && 'client' in value;
}

function configOf(config: Knex.Config, max: number): Knex.Config {
  checkClient(config.client);
  return {
    client: 'mysql2',
    // Spares Knex the query that asks the server: nothing here depends on the answer.
    version: '8.0.0',
    connection: connectionOf(config.connection),
    pool: { min: 0, max },
    acquireConnectionTimeout: 2 * CONNECT_TIMEOUT_MS,
    log: SILENT,
  } as Knex.Config;
}

function checkClient(client: unknown): void {
  const name =
    typeof client === 'function' ? (client.prototype as { driverName?: unknown }).driverName : client;
  if (name !== undefined && name !== 'mysql2' && name !== 'mysql') {
    throw new LockConfigError(`Expected a Knex for the client mysql2 and got ${JSON.stringify(name)}.`);
  }
}

function connectionOf(connection: unknown): Knex.StaticConnectionConfig | Knex.ConnectionConfigProvider {
  if (typeof connection === 'function') {
    const provide = connection as () => unknown;
    return async () => settingsOf(await provide());
  }
  return settingsOf(connection);
}

function settingsOf(connection: unknown): Settings {
  if (typeof connection === 'string')
    return { uri: checkUrl(connection), connectTimeout: CONNECT_TIMEOUT_MS, ...OURS };
  if (connection === null || typeof connection !== 'object') {
    throw new LockConfigError(
      'Expected the Knex configuration to have a connection: a URL, an object or a function.',
    );
  }
  const settings = connection as Settings;
  // Knex hides the password from enumeration: a spread alone would leave it behind.
  const password = 'password' in settings ? { password: settings.password } : {};
  return { connectTimeout: CONNECT_TIMEOUT_MS, ...settings, ...password, ...OURS };
}

function checkUrl(url: string): string {
  const mysql = url.replace(/^mariadb:/, 'mysql:');
  if (!/^mysqls?:\/\//.test(mysql) || !URL.canParse(mysql)) {
    throw new LockConfigError(
      'Expected connection to be a URL like mysql://user:password@host:3306/database.',
    );
  }
  return mysql;
}
