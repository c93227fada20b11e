import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rename, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Guard } from './guard.js';

const execute = promisify(execFile);

/** Runs a program to its end. @returns what it printed @throws with what it printed to stderr */
export async function run(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const options = { env: { ...process.env, ...env }, maxBuffer: 64 * 2 ** 20 };
  const { stdout } = await execute(command, [...args], options);
  return stdout;
}

/** Runs a program that reads from its standard input. @throws with the end of what it printed */
export async function feed(command: string, args: readonly string[], input: string): Promise<void> {
  const child = spawn(command, [...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  child.stdin.end(input);
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (code !== 0) throw new Error(`${command} ended with ${String(code)}: ${output.slice(-2_000)}`);
}

/** Whether there is a file, or a directory, of this path. */
export async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

/** The project's folder for what is kept across runs, outside the checkout; made if need be. */
export async function cacheFolder(): Promise<string> {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'nestjs-interlock');
  await mkdir(folder, { recursive: true });
  return folder;
}

/**
 * A directory in the cache that is made once. Several callers, of several processes too, may make it at once: each
 * makes its own, and the first to finish moves it into place. What a process that is killed meanwhile has made is removed.
 */
export async function cached(name: string, make: (directory: string) => Promise<void>): Promise<string> {
  const directory = join(await cacheFolder(), name);
  if (await exists(directory)) return directory;
  const draft = await mkdtemp(`${directory}.`);
  const guard = await Guard.over(draft);
  try {
    await make(draft);
    await rename(draft, directory);
  } catch (error) {
    if (!(await exists(directory))) throw error;
  } finally {
    await guard.release();
  }
  return directory;
}
