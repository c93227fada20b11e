import mysql from 'mysql2/promise';
import type { TestProject } from 'vitest/node';
import { startServer, type Flavor } from '../../private-server/index.js';

/** A server that the suites run against. */
export interface ServerUnderTest {
  readonly flavor: Flavor;
  readonly version: string;
  /** Without a database. */
  readonly url: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    servers: ServerUnderTest[];
  }
}

const FLAVORS = ['mysql', 'mariadb'] as const;
const GIVEN = { mysql: process.env.INTERLOCK_MYSQL_URL, mariadb: process.env.INTERLOCK_MARIADB_URL };

type Started = ServerUnderTest & { stop(): Promise<void> };

/** Vitest's global set-up: both servers for the whole run, unless the environment gives or narrows them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const servers = await startAll();
  const shown = servers.map(({ flavor, version }) => `${flavor} ${version}`).join(', ');
  console.log(`Database suites run against: ${shown}.`);
  project.provide(
    'servers',
    servers.map(({ flavor, version, url }) => ({ flavor, version, url })),
  );
  return async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
}

async function startAll(): Promise<Started[]> {
  const { DATABASE_URL, INTERLOCK_SERVERS } = process.env;
  if (DATABASE_URL && !GIVEN.mysql && !GIVEN.mariadb) {
    console.log('DATABASE_URL is set: the database suites run against that server alone.');
    return [await given(DATABASE_URL)];
  }
  return await Promise.all(wanted(INTERLOCK_SERVERS).map((flavor) => start(flavor)));
}

function wanted(narrowed: string | undefined): readonly Flavor[] {
  if (!narrowed) return FLAVORS;
  const flavors = FLAVORS.filter((flavor) => narrowed.split(',').includes(flavor));
  if (flavors.length === 0)
    throw new Error(`Expected INTERLOCK_SERVERS to be mysql or mariadb and got ${narrowed}.`);
  console.log(`INTERLOCK_SERVERS narrows the database suites to ${flavors.join(', ')}.`);
  return flavors;
}

async function start(flavor: Flavor): Promise<Started> {
  const url = GIVEN[flavor];
  if (url) return await given(url);
  const server = await startServer({ flavor });
  return { flavor, version: server.version, url: server.url(), stop: () => server.stop() };
}

async function given(url: string): Promise<Started> {
  const connection = await mysql.createConnection(url);
  const [[row]] = await connection.query<mysql.RowDataPacket[]>('SELECT VERSION() AS version');
  await connection.end();
  const version = String(row!.version);
  const flavor = version.includes('MariaDB') ? 'mariadb' : 'mysql';
  return { flavor, version, url, stop: () => Promise.resolve() };
}
