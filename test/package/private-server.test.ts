import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import mysql from 'mysql2/promise';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { findProgram } from '../../private-server/find-program.js';
import {
  startServer,
  type Flavor,
  type PrivateServer,
  type ServerOptions,
} from '../../private-server/index.js';
import { cached } from '../../private-server/shell.js';
import { serversUnderTest } from '../support/servers.js';
import { until } from '../support/until.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

async function start(options: ServerOptions): Promise<PrivateServer> {
  const server = await startServer(options);
  onTestFinished(() => server.stop());
  return server;
}

async function ask(url: string, sql: string): Promise<unknown> {
  const connection = await mysql.createConnection(url);
  const [rows] = await connection.query(sql);
  await connection.end();
  return rows;
}

async function dataFolder(url: string): Promise<string> {
  const [row] = (await ask(url, 'SELECT @@datadir AS folder')) as [{ folder: string }];
  return row.folder;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !isZombie(pid);
}

/** An orphan that is dead, where the first process of a container does not reap. */
function isZombie(pid: number): boolean {
  const file = `/proc/${pid}/stat`;
  return existsSync(file) && /\) Z /.test(readFileSync(file, 'utf8'));
}

describe.each(serversUnderTest())('a private $flavor server', ({ flavor }) => {
  it('answers, several at once, each with its own data and identity', async () => {
    const [one, other] = await Promise.all([start({ flavor }), start({ flavor })]);
    const url = await one.createDatabase('only_here');
    expect(await ask(url, 'SELECT DATABASE() AS db')).toEqual([{ db: 'only_here' }]);
    await expect(ask(other.url('only_here'), 'SELECT 1')).rejects.toMatchObject({ errno: 1049 });
    const identity = { mysql: '@@server_uuid', mariadb: '@@datadir' }[flavor];
    const mine = await ask(url, `SELECT ${identity} AS own`);
    expect(await ask(other.url(), `SELECT ${identity} AS own`)).not.toEqual(mine);
  });

  it('takes options, and others at a restart', async () => {
    const server = await start({ flavor, options: ['--server-id=7'] });
    expect(await ask(server.url(), 'SELECT @@server_id AS id')).toEqual([{ id: 7 }]);
    await server.restart(['--server-id=8']);
    expect(await ask(server.url(), 'SELECT @@server_id AS id')).toEqual([{ id: 8 }]);
  });

  it('comes back on the same data and port after kill -9', async () => {
    const server = await start({ flavor });
    const url = await server.createDatabase();
    await ask(url, 'CREATE TABLE kept (id INT PRIMARY KEY)');
    const { pid, port } = server;
    await server.kill();
    expect(isAlive(pid)).toBe(false);
    await server.restart();
    expect(server.port).toBe(port);
    expect(await ask(url, 'SELECT * FROM kept')).toEqual([]);
  });

  it('leaves neither a process nor a file when it is stopped', async () => {
    const server = await start({ flavor });
    const folder = await dataFolder(server.url());
    expect(existsSync(folder)).toBe(true);
    await server.stop();
    expect([isAlive(server.pid), existsSync(folder)]).toEqual([false, false]);
  });

  it('outlives neither with a process nor with a file a parent that is killed with -9', async () => {
    const { pid, url, killParent } = await startInChild(flavor);
    const folder = await dataFolder(url);
    expect([isAlive(pid), existsSync(folder)]).toEqual([true, true]);
    await killParent();
    await until(() => !isAlive(pid), 'the server to end after its parent');
    await until(() => !existsSync(folder), 'the data to be removed');
  });

  it.each([
    { kind: 'long', named: (folder: string) => join(folder, 'x'.repeat(90)) },
    { kind: 'relative', named: (folder: string) => relative('.', folder) },
  ])('starts where the name of the temporary folder is $kind', async ({ named }) => {
    const folder = await mkdtemp(join(tmpdir(), 'interlock-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('TMPDIR', named(folder));
    await mkdir(named(folder), { recursive: true });
    const server = await start({ flavor });
    expect(isAbsolute(await dataFolder(server.url()))).toBe(true);
  });

  it('tells why it did not start', async () => {
    await expect(startServer({ flavor, options: ['--no-such-option'] })).rejects.toThrow(/no-such-option/);
  });
});

it('says what to do where there is no server and none can be installed', async () => {
  vi.stubEnv('INTERLOCK_NO_INSTALL', '1');
  onTestFinished(() => void vi.unstubAllEnvs());
  await expect(findProgram('mariadb', ['/nowhere'])).rejects.toThrow(
    /^No MariaDB server was found .* DATABASE_URL/,
  );
});

const make = (folder: string) => writeFile(join(folder, 'file'), '');
const fail = () => Promise.reject(new Error('no network'));

it('caches a thing whole or not at all, when several make it at once', async () => {
  const home = await mkdtemp(join(tmpdir(), 'interlock-cache-'));
  onTestFinished(() => rm(home, { recursive: true }));
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('XDG_CACHE_HOME', home);
  await expect(cached('thing', fail)).rejects.toThrow('no network');
  const found = await Promise.all([cached('thing', make), cached('thing', make), cached('thing', make)]);
  expect(new Set(found)).toEqual(new Set([join(home, 'nestjs-interlock/thing')]));
  expect(await readdir(join(home, 'nestjs-interlock'))).toEqual(['thing']);
  expect(await readdir(found[0])).toEqual(['file']);
});

it('leaves nothing half made in the cache when its process is killed with -9', async () => {
  const home = await mkdtemp(join(tmpdir(), 'interlock-cache-'));
  onTestFinished(() => rm(home, { recursive: true }));
  const { printed, killParent } = await inChild(
    `
    import { cached } from '${root}private-server/shell.ts';
    await cached('thing', async (draft) => {
      console.log(draft);
      await new Promise((resolve) => setInterval(resolve, 2 ** 30));
    });`,
    { XDG_CACHE_HOME: home },
  );
  expect(existsSync(printed)).toBe(true);
  await killParent();
  await until(() => !existsSync(printed), 'the half made thing to be removed');
});

/** Starts a server in a process of its own. */
async function startInChild(flavor: Flavor) {
  const { printed, killParent } = await inChild(`
    import { startServer } from '${root}private-server/index.ts';
    const server = await startServer({ flavor: '${flavor}' });
    console.log(server.pid, server.url());
    setInterval(() => undefined, 1000);`);
  const [pid, url] = printed.split(' ') as [string, string];
  return { pid: Number(pid), url, killParent };
}

/** Runs a script in a process of its own, until it has printed a line. */
async function inChild(script: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    ...{ cwd: root, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [printed] = (await once(child.stdout, 'data')) as [Buffer];
  const killParent = async () => {
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  return { printed: String(printed).trim(), killParent };
}
