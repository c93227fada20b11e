import { dirname, join, resolve } from 'node:path';
import type { Program } from './server-types.js';
import { exists, run } from './shell.js';

/** MariaDB's root has been told to come in without a password in this way since 10.4. */
const OLDEST = { mysql: '8.0', mariadb: '10.4' };

/**
 * The server program of this path, if it is one that can be used.
 * @param loader the dynamic loader that runs it, with its arguments, if not the machine's own
 * @param places the arguments that tell it where it is unpacked
 */
export async function programAt(
  path: string,
  loader: readonly string[] = [],
  places: readonly string[] = [],
): Promise<Program | undefined> {
  if (!(await exists(path))) return undefined;
  const [command, ...before] = [...loader, path];
  const args = [...before, '--no-defaults', ...places];
  // A program that does not run is as good as none: the search goes on.
  const printed = await run(command, [...args, '--version']).catch(() => '');
  const version = /\d+\.\d+\.\d+/.exec(printed)?.[0];
  const flavor = printed.includes('MariaDB') ? 'mariadb' : 'mysql';
  if (!version || isOlder(version, OLDEST[flavor])) return undefined;
  return { flavor, version, command, args, shareDir: await shareOf(path) };
}

function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0;
}

/** Every server has messages in English, in a folder that packagers name one way or another. */
async function shareOf(path: string): Promise<string> {
  const share = resolve(dirname(path), '../share');
  for (const folder of ['mysql', 'mariadb'])
    if (await exists(join(share, folder, 'english'))) return join(share, folder);
  return share;
}
