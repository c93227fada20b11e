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

const TSX = [process.execPath, '--import', 'tsx'] as const;
/** What `npm start` runs, without npm. */
const START = [...TSX, 'sample-app/start.ts'] as const;

/** What a command of the sample printed, errors included, and its exit code. */
export interface Ran {
  readonly code: number | null;
  readonly printed: string;
}

/** Runs one of the sample's commands. It ends with the test at the latest. */
export async function runCommand(script: string, ...args: string[]): Promise<Ran> {
  const child = spawn(TSX[0], [...TSX.slice(1), script, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, printed };
}

/** The sample as `npm start` starts it: real processes on a port of the system's choice. */
export class Sample {
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #guard: ChildProcess;
  #printed = '';

  private constructor(folder: string, env: Record<string, string>, [program, ...args]: readonly string[]) {
    this.folder = folder;
    this.#child = spawn(program!, args, {
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
    command: readonly string[] = START,
  ): Promise<Sample> {
    const sample = new Sample(folder, { DATABASE_URL: databaseUrl, ...env }, command);
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
    const { code, printed } = await runCommand(script, ...args);
    if (code !== 0) throw new Error(`Expected '${script}' to end with 0 and got ${code}: ${printed}`);
    return printed;
  }

  /** Whether no process of its group is left: npm, the shell in between, and all that the sample started. */
  get isGone(): boolean {
    return !this.#signalGroup(0);
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
    this.#signalGroup('SIGKILL');
    await exit;
    this.#guard.kill('SIGKILL');
  }

  /** @returns whether anybody was there to get it */
  #signalGroup(signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-this.#child.pid!, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      return false;
    }
  }
}
