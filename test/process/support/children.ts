import { execFile, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { ownIdentity } from '../../../lib/process/own-identity.js';
import { codeOf } from '../../../lib/process/system.js';
import type { OwnerIdentity } from '../../../lib/shared/owner.js';

/** Until a condition holds that comes about by itself. */
export const POLLING = { timeout: 10_000, interval: 5 };

/** A started child, with what it writes line by line. */
export interface Child {
  readonly process: ChildProcess;
  readonly pid: number;
  nextLine(): Promise<string>;
}

/** Starts a program in a process group of its own, which is killed when the test ends, however it ends. */
export async function start(
  file: string,
  args: readonly string[],
  options: SpawnOptions = {},
): Promise<Child> {
  const child = spawn(file, args, { ...options, detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child, 'spawn');
  const pid = child.pid!;
  onTestFinished(() => killGroup(pid));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { process: child, pid, nextLine: async () => String((await lines.next()).value) };
}

/** Starts a command whose parent, an endless `sleep`, never reaps it. */
export async function startUnreaped(...command: readonly string[]): Promise<{ parent: Child; pid: number }> {
  const parent = await start('sh', ['-c', '"$@" & echo $!; exec sleep 100', 'sh', ...command]);
  const pid = Number(await parent.nextLine());
  // Some shells would reap it.
  await expect.poll(() => statField(String(parent.pid), 2), POLLING).toBe('(sleep)');
  return { parent, pid };
}

/** The command that runs one of this folder's scripts. */
export function script(name: string, ...args: readonly string[]): [string, ...string[]] {
  return [process.execPath, '--import', 'tsx', fileURLToPath(new URL(name, import.meta.url)), ...args];
}

/** Runs a command to its end; resolves to its lines. */
export async function linesOf([file, ...args]: readonly [string, ...string[]], env = {}): Promise<string[]> {
  const { stdout } = await promisify(execFile)(file, args, {
    env: { ...process.env, ...env },
    timeout: 30_000,
    killSignal: 'SIGKILL',
  });
  return stdout.trim().split('\n');
}

/** Kills a child and waits until it is reaped. */
export async function killAndReap({ process: child }: Child): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** Field `number` of a task's stat file; the test's own reading, which knows nothing of names with brackets. */
export function statField(path: string, number: number): string {
  return readFileSync(`/proc/${path}/stat`, 'utf8').split(' ')[number - 1]!;
}

export async function untilState(id: number, state: string): Promise<void> {
  await expect.poll(() => statField(String(id), 3), POLLING).toBe(state);
}

/** The identity a process on this host would have, were it one of ours. */
export function ownerOf(pid: number): OwnerIdentity {
  return { ...ownIdentity(), pid, thread: pid, started: statField(String(pid), 22) };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}
