import { execFile, spawn } from 'node:child_process';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

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

export async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

/**
 * A directory that is made once and kept across runs, outside the checkout. Several processes may make it at once: each
 * makes its own, and the first to finish moves it into place.
 */
export async function cached(name: string, make: (directory: string) => Promise<void>): Promise<string> {
  const home = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const directory = join(home, 'nestjs-interlock', name);
  if (await exists(directory)) return directory;
  const draft = `${directory}.${process.pid}.${Date.now()}`;
  await mkdir(dirname(directory), { recursive: true });
  try {
    await mkdir(draft);
    await make(draft);
    await rename(draft, directory);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!(await exists(directory))) throw error;
  }
  return directory;
}
