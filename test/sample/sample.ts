import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { until } from '../support/until.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The sample as `npm start` starts it: real processes on a port of the system's choice. */
export class Sample {
  readonly folder = mkdtempSync(join(tmpdir(), 'sample-'));
  readonly #child: ChildProcess;
  #printed = '';

  private constructor(env: Record<string, string>) {
    this.#child = spawn(process.execPath, ['--import', 'tsx', 'sample-app/start.ts'], {
      cwd: root,
      env: { ...process.env, PORT: '0', ARCHIVE_FOLDER: this.folder, CHUNK_PAUSE_MS: '30', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child.stdout!.on('data', (chunk) => (this.#printed += String(chunk)));
  }

  /** Starts it, and waits for its greeting. It ends when the test does. */
  static async start(databaseUrl: string, env: Record<string, string> = {}): Promise<Sample> {
    const sample = new Sample({ DATABASE_URL: databaseUrl, ...env });
    onTestFinished(() => sample.#remove());
    await until(() => sample.printed.includes('Ctrl-C'), 'the sample to greet');
    return sample;
  }

  /** Everything it printed. */
  get printed(): string {
    return this.#printed;
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

  /** The notes of who archived what, in the order in which it happened. */
  journal(): { site: string; fencing: number; pid: number; event: string }[] {
    const file = join(this.folder, 'journal.log');
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
    return lines.map((line) => {
      const [site, fencing, pid, event] = line.split('\t') as [string, string, string, string];
      return { site, fencing: Number(fencing), pid: Number(pid), event };
    });
  }

  /** @returns its exit code */
  async end(signal: 'SIGINT' | 'SIGTERM'): Promise<number | null> {
    const exit = once(this.#child, 'exit');
    this.#child.kill(signal);
    const [code] = (await exit) as [number | null];
    return code;
  }

  async #remove(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exit = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await exit;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
