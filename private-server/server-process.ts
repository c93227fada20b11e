import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2/promise';
import { asRoot, SMALL_REDO_LOG } from './data-directory.js';
import type { Guard } from './guard.js';
import type { Program } from './server-types.js';

const START_MS = 60_000;
const ORDERLY_END_MS = 60_000;
const LOG_TAIL = 3_000;
/** Tells the guard its pid and only then becomes the server: there is no moment in which nobody would end it. */
const LAUNCH = 'echo $$ >&3; exec 3>&-; exec /usr/bin/env "$@"';

/** Where one server lives, and who ends it when nobody else does. */
export interface Home {
  readonly folder: string;
  readonly port: number;
  readonly guard: Guard;
}

/** One run of a server. */
export class ServerProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Resolves once the server answers. @throws with the end of its error log */
  static async start(
    program: Program,
    home: Home,
    options: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<ServerProcess> {
    await removeSocket(home);
    const child = launch(home, [
      ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
      ...[program.command, ...program.args, ...defaults(program, home), ...options],
    ]);
    await once(child, 'spawn');
    const started = new ServerProcess(child);
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
    if (this.#hasEnded()) return;
    const exit = once(this.#child, 'exit');
    this.#child.ref();
    this.#child.kill(signal);
    const impatience = setTimeout(() => this.#child.kill('SIGKILL'), ORDERLY_END_MS);
    await exit;
    clearTimeout(impatience);
  }

  #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async #untilReady(home: Home): Promise<void> {
    const end = performance.now() + START_MS;
    while (!(await answers(home))) {
      if (this.#hasEnded() || performance.now() > end) {
        const log = await readFile(logOf(home), 'utf8');
        throw new Error(`The database server did not start. The end of its log:\n${log.slice(-LOG_TAIL)}`);
      }
      await sleep(50);
    }
  }
}

function launch(home: Home, command: readonly string[]): ChildProcess {
  const log = openSync(logOf(home), 'a');
  const child = spawn('/bin/sh', ['-c', LAUNCH, 'server', ...command], {
    stdio: ['ignore', log, log, home.guard.pipe],
    // A session of its own: Ctrl-C at the terminal is for our process, which then ends the server.
    detached: true,
  });
  closeSync(log);
  child.once('exit', () => home.guard.forget());
  child.unref();
  return child;
}

function logOf({ folder }: Home): string {
  return join(folder, 'error.log');
}

function socketOf({ folder }: Home): string {
  return join(folder, 'socket');
}

/** Whether it is this very server that answers: somebody else's may have got hold of the port. */
async function answers(home: Home): Promise<boolean> {
  try {
    const connection = await mysql.createConnection({
      ...{ host: '127.0.0.1', port: home.port, user: 'root', connectTimeout: 2_000 },
    });
    const [[row]] = await connection.query<mysql.RowDataPacket[]>('SELECT @@socket AS socket');
    await connection.end();
    return row?.socket === socketOf(home);
  } catch (error) {
    // Not listening yet: one that never will is found by its end, or by the time. A refusal by the server is final.
    if ((error as { sqlState?: string }).sqlState !== undefined) throw error;
    return false;
  }
}

/** A killed server leaves its socket and the socket's lock behind, and the next one refuses them. */
async function removeSocket(home: Home): Promise<void> {
  for (const suffix of ['', '.lock']) await rm(socketOf(home) + suffix, { force: true });
}

/** Everything that makes a commit durable stays at the server's own defaults. */
function defaults({ flavor, shareDir }: Program, home: Home): string[] {
  const common = [
    ...[`--datadir=${join(home.folder, 'data')}`, `--pid-file=${join(home.folder, 'pid')}`],
    ...[`--socket=${socketOf(home)}`, `--tmpdir=${home.folder}`, '--secure-file-priv='],
    ...[`--port=${home.port}`, '--bind-address=127.0.0.1', '--max-connections=500'],
    ...['--innodb-buffer-pool-size=64M', '--skip-log-bin'],
  ];
  const own =
    flavor === 'mysql'
      ? ['--performance-schema=OFF', '--loose-mysqlx=OFF', SMALL_REDO_LOG]
      : [`--lc-messages-dir=${shareDir}`];
  return [...asRoot(), ...common, ...own];
}
