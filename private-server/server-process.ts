import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2/promise';
import { asRoot } from './data-directory.js';
import type { Program } from './server-types.js';

const START_MS = 60_000;
/** Kills the server and removes its folder once the pipe to our process has closed, however our process ended. */
const GUARD = 'trap "" INT TERM HUP; cat >/dev/null; kill -9 "$1" 2>/dev/null; rm -rf "$2"';

/** Where one server lives. */
export interface Home {
  readonly folder: string;
  readonly port: number;
}

/** One run of a server, with the guard that ends it should our own process be killed. */
export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #guard: ChildProcess;

  private constructor(child: ChildProcess, guard: ChildProcess) {
    this.#child = child;
    this.#guard = guard;
  }

  /** Resolves once the server answers. @throws with the end of its error log */
  static async start(
    program: Program,
    home: Home,
    options: readonly string[],
    env: Record<string, string>,
  ): Promise<ServerProcess> {
    await removeSocket(home);
    const log = openSync(join(home.folder, 'error.log'), 'a');
    // A session of its own: Ctrl-C at the terminal is for our process, which then ends the server.
    const child = spawn(program.command, [...program.args, ...defaults(program, home), ...options], {
      ...{ stdio: ['ignore', log, log], detached: true, env: { ...process.env, ...env } },
    });
    closeSync(log);
    await once(child, 'spawn');
    const guard = spawn('sh', ['-c', GUARD, 'guard', String(child.pid), home.folder], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    const started = new ServerProcess(child, guard);
    for (const one of [child, guard, guard.stdin as unknown as ChildProcess]) one.unref();
    try {
      await started.#untilReady(home);
      return started;
    } catch (error) {
      await started.end('SIGKILL');
      throw error;
    }
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Ends the server and waits until it is gone and reaped: a zombie still locks its socket. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#guard.kill('SIGKILL');
    if (this.#hasEnded()) return;
    const exit = once(this.#child, 'exit');
    this.#child.ref();
    this.#child.kill(signal);
    await exit;
  }

  #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async #untilReady(home: Home): Promise<void> {
    const end = performance.now() + START_MS;
    while (!(await answers(home.port))) {
      if (this.#hasEnded() || performance.now() > end) {
        const log = await readFile(join(home.folder, 'error.log'), 'utf8');
        throw new Error(`The database server did not start. The end of its log:\n${log.slice(-3_000)}`);
      }
      await sleep(50);
    }
  }
}

async function answers(port: number): Promise<boolean> {
  try {
    const connection = await mysql.createConnection({
      host: '127.0.0.1',
      port,
      user: 'root',
      connectTimeout: 2_000,
    });
    await connection.end();
    return true;
  } catch (error) {
    // Not listening yet: one that never will is found by its end, or by the time. A refusal by the server is final.
    if ((error as { sqlState?: string }).sqlState !== undefined) throw error;
    return false;
  }
}

/** A killed server leaves its socket and the socket's lock behind, and the next one refuses them. */
async function removeSocket({ folder }: Home): Promise<void> {
  for (const name of ['socket', 'socket.lock']) await rm(join(folder, name), { force: true });
}

function defaults({ flavor, shareDir }: Program, { folder, port }: Home): string[] {
  const common = [
    ...[
      `--datadir=${join(folder, 'data')}`,
      `--socket=${join(folder, 'socket')}`,
      `--pid-file=${join(folder, 'pid')}`,
    ],
    ...[`--port=${port}`, '--bind-address=127.0.0.1', '--max-connections=500'],
    ...['--innodb-buffer-pool-size=64M', '--skip-log-bin', '--secure-file-priv=', `--tmpdir=${folder}`],
  ];
  const own =
    flavor === 'mysql'
      ? ['--performance-schema=OFF', '--mysqlx=OFF', '--innodb-redo-log-capacity=16M']
      : [`--lc-messages-dir=${shareDir}`];
  return [...asRoot(), ...common, ...own];
}
