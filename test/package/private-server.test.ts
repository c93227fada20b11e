import { spawn } from 'node:child_process';
import { once } from 'node:events';
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

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe.each(serversUnderTest())('a private $flavor server', ({ flavor }) => {
  it('answers, several at once, each with its own data', async () => {
    const [one, other] = await Promise.all([start({ flavor }), start({ flavor })]);
    const url = await one.createDatabase('only_here');
    expect(await ask(url, 'SELECT DATABASE() AS db')).toEqual([{ db: 'only_here' }]);
    await expect(ask(other.url('only_here'), 'SELECT 1')).rejects.toMatchObject({ errno: 1049 });
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

  it('does not outlive a parent that is killed with -9', async () => {
    const pid = await startInChild(flavor);
    await until(() => !isAlive(pid), 'the server to end after its parent');
  });

  it('tells why it did not start', async () => {
    await expect(startServer({ flavor, options: ['--no-such-option'] })).rejects.toThrow(/no-such-option/);
  });
});

it('says what to do where there is no server and none can be installed', async () => {
  vi.stubEnv('INTERLOCK_NO_INSTALL', '1');
  onTestFinished(() => void vi.unstubAllEnvs());
  await expect(findProgram('mysql', ['/nowhere'])).rejects.toThrow(
    /No MySQL server was found .* DATABASE_URL/,
  );
});

/** Starts a server in a process of its own, kills that, and tells the server's pid. */
async function startInChild(flavor: Flavor): Promise<number> {
  const script = `
    import { startServer } from '${root}private-server/index.ts';
    const server = await startServer({ flavor: '${flavor}' });
    console.log(server.pid);
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    ...{ cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [printed] = (await once(child.stdout, 'data')) as [Buffer];
  const pid = Number(printed);
  expect(isAlive(pid)).toBe(true);
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
  return pid;
}
