import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import mysql from 'mysql2/promise';
import { makeDataDirectory } from './data-directory.js';
import { findProgram } from './find-program.js';
import { Guard } from './guard.js';
import { ServerProcess, type Home } from './server-process.js';
import type { Flavor, PrivateServer, Program, ServerOptions } from './server-types.js';

/** Below the ports that the system gives to outgoing connections: a restart finds its port free again. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;
/** The longest path of a socket is 103 bytes where it is shortest; what comes below the temporary folder takes 29. */
const LONGEST_TEMPORARY = 103 - 29;

/**
 * Starts a private server: a program found on this machine, or one that is installed.
 * @throws an Error that says what to do when there is none, or why it did not start
 */
export async function startServer({ flavor, options = [], env = {} }: ServerOptions): Promise<PrivateServer> {
  const program = await findProgram(flavor);
  const folder = await mkdtemp(join(temporaryFolder(), 'interlock-'));
  const guard = await Guard.over(folder);
  try {
    await makeDataDirectory(program, join(folder, 'data'));
    const home = { folder, guard, port: await freePort() };
    const running = await ServerProcess.start(program, home, options, env);
    return new Server(program, home, { options, env }, running);
  } catch (error) {
    await guard.release();
    throw error;
  }
}

class Server implements PrivateServer {
  readonly #program: Program;
  readonly #home: Home;
  readonly #env: Readonly<Record<string, string>>;
  #options: readonly string[];
  #running: ServerProcess;

  constructor(
    program: Program,
    home: Home,
    { options = [], env = {} }: Partial<ServerOptions>,
    running: ServerProcess,
  ) {
    this.#program = program;
    this.#home = home;
    this.#options = options;
    this.#env = env;
    this.#running = running;
  }

  get flavor(): Flavor {
    return this.#program.flavor;
  }

  get version(): string {
    return this.#program.version;
  }

  get port(): number {
    return this.#home.port;
  }

  get pid(): number {
    return this.#running.pid;
  }

  url(database = ''): string {
    return `mysql://root@127.0.0.1:${this.port}/${database}`;
  }

  async createDatabase(name = `db_${randomBytes(6).toString('hex')}`): Promise<string> {
    const connection = await mysql.createConnection(this.url());
    await connection.query('CREATE DATABASE ??', [name]);
    await connection.end();
    return this.url(name);
  }

  /** With SIGKILL: an orderly end takes a second and would only save data that is about to go. */
  async stop(): Promise<void> {
    await this.kill();
    await this.#home.guard.release();
  }

  async kill(): Promise<void> {
    await this.#running.end('SIGKILL');
  }

  async restart(options: readonly string[] = this.#options): Promise<void> {
    await this.#running.end('SIGTERM');
    this.#options = options;
    this.#running = await ServerProcess.start(this.#program, this.#home, options, this.#env);
  }
}

/** Absolute, as server and guard have working directories of their own, and short enough for the server's socket. */
function temporaryFolder(): string {
  const own = resolve(tmpdir());
  return Buffer.byteLength(own) > LONGEST_TEMPORARY ? '/tmp' : own;
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
