import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** What this folder asks of the operating system: a plain parameter, so that tests can stand in for other systems. */
export interface System {
  readonly platform: NodeJS.Platform;
  readonly pid: number;
  readonly hostname: () => string;
  /** A file's whole text. Synchronous, since `/proc/thread-self` is the thread that does the reading. */
  readonly read: (path: string) => string;
  readonly readlink: (path: string) => string;
  /** What a program writes to its standard output. No shell is involved. */
  readonly run: (file: string, args: readonly string[]) => string;
  /** Signal 0: throws unless the process, or thread, exists and may be signalled; see kill(2). */
  readonly signal: (id: number) => void;
}

const PROGRAM_TIMEOUT_MS = 5_000;

export const system: System = {
  platform: process.platform,
  get pid() {
    return process.pid;
  },
  hostname,
  read: (path) => readFileSync(path, 'utf8'),
  readlink: (path) => readlinkSync(path),
  run: (file, args) =>
    execFileSync(file, args, {
      encoding: 'utf8',
      // The same words and the same time zone for everybody, or the same start would read differently.
      env: { LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: PROGRAM_TIMEOUT_MS,
    }),
  signal: (id) => void process.kill(id, 0),
};

/** "There is no such thing here" or "not for you": answers that stay the same however often one asks. */
const REFUSALS = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EINVAL', 'ENOSYS', 'ERR_ACCESS_DENIED']);

/**
 * The answer, or null where this system refuses to give one.
 * @throws whatever else went wrong (EMFILE, ENOMEM, a timeout): who takes that for a refusal is somebody else a
 *   minute later.
 */
export function told<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

/** An error's `code`; `''` where it has none. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

function isRefusal(error: unknown): boolean {
  // A program that ran and ended with another status than 0 has answered, too.
  const exitStatus = (error as { status?: unknown } | null)?.status;
  return REFUSALS.has(codeOf(error)) || typeof exitStatus === 'number';
}
