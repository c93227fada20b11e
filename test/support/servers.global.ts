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
const URL_OF = { mysql: 'INTERLOCK_MYSQL_URL', mariadb: 'INTERLOCK_MARIADB_URL' } as const;

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
  const flavors = wanted(INTERLOCK_SERVERS);
  if (!DATABASE_URL || flavors.some(givenUrl))
    return await Promise.all(flavors.map((flavor) => start(flavor)));
  console.log('DATABASE_URL is set: the database suites run against that server alone.');
  const server = await given(DATABASE_URL);
  if (!flavors.includes(server.flavor))
    throw new Error(
      `Expected a ${flavors.join()} server at DATABASE_URL, as INTERLOCK_SERVERS says, and got ${server.flavor}.`,
    );
  return [server];
}

function givenUrl(flavor: Flavor): string | undefined {
  return process.env[URL_OF[flavor]];
}

function wanted(narrowed: string | undefined): readonly Flavor[] {
  if (!narrowed) return FLAVORS;
  const names = narrowed.split(',');
  const flavors = FLAVORS.filter((flavor) => names.includes(flavor));
  if (flavors.length !== names.length)
    throw new Error(`Expected INTERLOCK_SERVERS to be mysql or mariadb and got ${narrowed}.`);
  console.log(`INTERLOCK_SERVERS narrows the database suites to ${flavors.join(', ')}.`);
  return flavors;
}

async function start(flavor: Flavor): Promise<Started> {
  const url = givenUrl(flavor);
  if (!url) return await startPrivate(flavor);
  const server = await given(url);
  if (server.flavor !== flavor)
    throw new Error(`Expected a ${flavor} server at the URL given for it and got ${server.flavor}.`);
  return server;
}

async function startPrivate(flavor: Flavor): Promise<Started> {
  const server = await startServer({ flavor });
  return { flavor, version: server.version, url: server.url(), stop: () => server.stop() };
}

async function given(url: string): Promise<Started> {
  const version = await versionAt(url).catch((cause: unknown) => {
    throw new Error(`The given database server, ${new URL(url).host}, does not answer.`, { cause });
  });
  const flavor = version.includes('MariaDB') ? 'mariadb' : 'mysql';
  return { flavor, version, url, stop: () => Promise.resolve() };
}

async function versionAt(url: string): Promise<string> {
  const connection = await mysql.createConnection(url);
  const [[row]] = await connection.query<mysql.RowDataPacket[]>('SELECT VERSION() AS version');
  await connection.end();
  return String(row!.version);
}
