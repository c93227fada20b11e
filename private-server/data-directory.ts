import { cp, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Program } from './server-types.js';
import { cached, feed, run } from './shell.js';

/** Spares each MySQL server some 80 MB of disk; the name is unknown to the first servers of MySQL 8.0. */
export const SMALL_REDO_LOG = '--loose-innodb-redo-log-capacity=16M';

/** The arguments that let root run a server. */
export function asRoot(): string[] {
  return process.getuid?.() === 0 ? ['--user=root'] : [];
}

/** Fills a data directory: a copy of one that is initialised once for each version. */
export async function makeDataDirectory(program: Program, directory: string): Promise<void> {
  const { flavor, version } = program;
  const template = await cached(`data-${flavor}-${version}`, (draft) => initialise(program, draft));
  await cp(template, directory, { recursive: true });
  // Holds MySQL's UUID of the server, and two with the same one refuse to replicate. A server without makes its own.
  await rm(join(directory, 'auto.cnf'), { force: true });
}

async function initialise(program: Program, directory: string): Promise<void> {
  const args = [...program.args, ...asRoot(), `--datadir=${directory}`];
  if (program.flavor === 'mariadb') return await bootstrap(program, args, directory);
  await run(program.command, [...args, '--initialize-insecure', SMALL_REDO_LOG]);
}

/** What mariadb-install-db does; that one does not run without a program of another package. */
async function bootstrap({ command, shareDir }: Program, args: string[], directory: string): Promise<void> {
  const input = [
    'USE mysql;',
    await script(shareDir, 'system_tables'),
    await script(shareDir, 'performance_tables'),
    // root comes in over loopback TCP with no password, and not by the name of the system's user.
    'SET @auth_root_socket = NULL;',
    await script(shareDir, 'system_tables_data'),
  ];
  await mkdir(join(directory, 'mysql'));
  await feed(command, [...args, '--bootstrap', `--lc-messages-dir=${shareDir}`], input.join('\n'));
}

/** Its name begins with `mysql_`, or, in newer versions, with `mariadb_`. */
async function script(folder: string, name: string): Promise<string> {
  const names = [`mysql_${name}.sql`, `mariadb_${name}.sql`];
  const file = (await readdir(folder)).find((entry) => names.includes(entry));
  if (!file) throw new Error(`Expected ${names.join(' or ')} in ${folder}.`);
  return await readFile(join(folder, file), 'utf8');
}
