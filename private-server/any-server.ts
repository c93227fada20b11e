import { findInstalled } from './find-program.js';
import { startServer } from './start-server.js';
import type { Flavor } from './server-types.js';

/** A database to work on, and how to give it back. */
export interface Database {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * A database for whoever needs one and does not care whose: the one that `DATABASE_URL` names, else a private server of
 * whatever flavour this machine has, else one that is installed.
 * @throws an Error that says what to do
 */
export async function anyServer(): Promise<Database> {
  const url = process.env.DATABASE_URL;
  if (url) return { url, stop: () => Promise.resolve() };
  const server = await startServer({ flavor: await availableFlavor() });
  return { url: await server.createDatabase(), stop: () => server.stop() };
}

async function availableFlavor(): Promise<Flavor> {
  if (await findInstalled('mariadb')) return 'mariadb';
  if (await findInstalled('mysql')) return 'mysql';
  // MariaDB is the smaller one, and takes root to install.
  return process.getuid?.() === 0 ? 'mariadb' : 'mysql';
}
