import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { until } from '../support/until.js';

/** Ends the sample's process group once the pipe to the test process has closed, however the test process ended. */
const GUARD = 'trap "" INT TERM HUP; cat >/dev/null; kill -9 -- "-$1" 2>/dev/null';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What one process noted: it began or ended archiving a site, or added lines to its report. */
export interface Note {
  readonly site: string;
  readonly fencing: number;
  readonly pid: number;
  readonly event: string;
}

/** A folder that goes when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sample-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The sample as `npm start` starts it: real processes on a port of the system's choice. */
export class Sample {
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #guard: ChildProcess;
  #printed = '';

  private constructor(folder: string, env: Record<string, string>) {
    this.folder = folder;
    this.#child = spawn(process.execPath, ['--import', 'tsx', 'sample-app/start.ts'], {
      cwd: root,
      env: { ...process.env, PORT: '0', ARCHIVE_FOLDER: folder, CHUNK_PAUSE_MS: '30', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
      // A process group of its own, as a shell makes one: Ctrl-C reaches all of it, and so does our clearing up.
      detached: true,
    });
    this.#guard = spawn('sh', ['-c', GUARD, 'guard', String(this.#child.pid)], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    this.#child.stdout!.on('data', (chunk) => (this.#printed += String(chunk)));
  }

  /** Starts it, and waits for its greeting. It ends when the test does. */
  static async start(
    databaseUrl: string,
    env: Record<string, string> = {},
    folder = temporaryFolder(),
  ): Promise<Sample> {
    const sample = new Sample(folder, { DATABASE_URL: databaseUrl, ...env });
    onTestFinished(() => sample.#remove());
    await until(() => sample.#printed.includes('Ctrl-C'), 'the sample to greet', 120_000);
    return sample;
  }

  get address(): string {
    return /http:\S+?:\d+/.exec(this.#printed)![0];
  }

  /** The pids of its processes, those that took a place later included. */
  get pids(): number[] {
    const first = /in processes ([\d, ]+)/.exec(this.#printed)![1]!.split(', ').map(Number);
    const later = [...this.#printed.matchAll(/process (\d+) takes its place/g)].map((match) =>
      Number(match[1]),
    );
    return [...first, ...later];
  }

  /** A request on a connection of its own: the processes share the port by connection. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- what the route answers is the caller's to know.
  async request<T>(path: string, method: 'GET' | 'POST' = 'GET'): Promise<{ status: number; body: T }> {
    const response = await fetch(this.address + path, { method, headers: { connection: 'close' } });
    return { status: response.status, body: (await response.json()) as T };
  }

  /** Runs one of the commands that the sample prints. @returns what that prints */
  async run(command: string): Promise<string> {
    const line = this.#printed.split('\n').find((printed) => printed.includes(command))!;
    const [script, ...args] = line
      .replace(/ {3}.*$/, '')
      .trim()
      .split(' ')
      .slice(2) as [string, ...string[]];
    const child = spawn(process.execPath, ['--import', 'tsx', script, ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let printed = '';
    child.stdout.on('data', (chunk) => (printed += String(chunk)));
    await once(child, 'close');
    return printed;
  }

  /** The notes of who archived what, in the order in which it happened. */
  journal(): Note[] {
    const file = join(this.folder, 'journal.log');
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
    return lines.map((line) => {
      const [site, fencing, pid, event] = line.split('\t') as [string, string, string, string];
      return { site, fencing: Number(fencing), pid: Number(pid), event };
    });
  }

  /** As the terminal does it at Ctrl-C. @returns its exit code */
  pressCtrlC(): Promise<number | null> {
    return this.#ended(() => process.kill(-this.#child.pid!, 'SIGINT'));
  }

  /** Sends a signal to the first process alone. @returns its exit code */
  kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    return this.#ended(() => this.#child.kill(signal));
  }

  async #ended(end: () => void): Promise<number | null> {
    const exit = once(this.#child, 'exit');
    end();
    const [code] = (await exit) as [number | null];
    return code;
  }

  /** Whatever is left of it, also when the test failed. */
  async #remove(): Promise<void> {
    const isRunning = this.#child.exitCode === null && this.#child.signalCode === null;
    const exit = isRunning ? once(this.#child, 'exit') : undefined;
    try {
      process.kill(-this.#child.pid!, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
    await exit;
    this.#guard.kill('SIGKILL');
  }
}
