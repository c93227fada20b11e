import mysql from 'mysql2/promise';
import { findInstalled } from './find-program.js';
import { startServer } from './start-server.js';
import type { Flavor } from './server-types.js';

const UNKNOWN_DATABASE = 1049;

/** A database to work on, and how to give it back. */
export interface Database {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * A database for whoever needs one and does not care whose: the one that `DATABASE_URL` names, made if it is not there;
 * else one on a private server of whatever flavour this machine has; else on one that is installed.
 * @throws an Error that says what to do
 */
export async function anyServer(): Promise<Database> {
  const url = process.env.DATABASE_URL;
  if (url) return await given(url);
  const server = await startServer({ flavor: await availableFlavor() });
  return { url: await server.createDatabase(), stop: () => server.stop() };
}

async function availableFlavor(): Promise<Flavor> {
  if (await findInstalled('mariadb')) return 'mariadb';
  if (await findInstalled('mysql')) return 'mysql';
  // MariaDB is the smaller one, and takes root to install.
  return process.getuid?.() === 0 ? 'mariadb' : 'mysql';
}

async function given(url: string): Promise<Database> {
  if (await lacksDatabase(url)) await createDatabase(url);
  return { url, stop: () => Promise.resolve() };
}

/** Any other trouble with this URL is for whoever works with it to tell. */
async function lacksDatabase(url: string): Promise<boolean> {
  return await mysql.createConnection(url).then(
    (connection) => connection.end().then(() => false),
    (error: { errno?: number }) => error.errno === UNKNOWN_DATABASE,
  );
}

async function createDatabase(url: string): Promise<void> {
  const server = new URL(url);
  const name = decodeURIComponent(server.pathname.slice(1));
  server.pathname = '';
  const connection = await mysql.createConnection(server.href);
  // Another process may have been first.
  await connection.query('CREATE DATABASE IF NOT EXISTS ??', [name]);
  await connection.end();
}
