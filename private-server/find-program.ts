import { delimiter, join } from 'node:path';
import { aptInstall, hasApt } from './apt.js';
import { programAt } from './program.js';
import type { Flavor, Program } from './server-types.js';
import { unpackedMysql, unpackMysql } from './unpacked-mysql.js';

/** Where servers are that are not on the PATH of a user. */
const FURTHER = ['/usr/sbin', '/usr/local/sbin', '/usr/libexec', '/opt/homebrew/bin', '/usr/local/mysql/bin'];
const MARIADB_PACKAGE = 'mariadb-server-core';

/**
 * Finds a server program of this flavour, or installs one; `INTERLOCK_NO_INSTALL` in the environment forbids that.
 * @param folders where to look
 * @throws an Error that says what to do
 */
export async function findProgram(flavor: Flavor, folders?: readonly string[]): Promise<Program> {
  const program = (await findInstalled(flavor, folders)) ?? (await install(flavor));
  if (!program) throw noServer(flavor);
  return program;
}

/** A program of this flavour that is on this machine already. `mysqld` may be MariaDB's: only its version tells. */
export async function findInstalled(
  flavor: Flavor,
  folders: readonly string[] = usualFolders(),
): Promise<Program | undefined> {
  const names = flavor === 'mysql' ? ['mysqld'] : ['mariadbd', 'mysqld'];
  for (const path of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    const program = await programAt(path);
    if (program?.flavor === flavor) return program;
  }
  return flavor === 'mysql' ? await unpackedMysql() : undefined;
}

function usualFolders(): string[] {
  return [...(process.env.PATH ?? '').split(delimiter), ...FURTHER].filter(Boolean);
}

async function install(flavor: Flavor): Promise<Program | undefined> {
  if (process.env.INTERLOCK_NO_INSTALL || !(await hasApt())) return undefined;
  try {
    return flavor === 'mysql' ? await unpackMysql() : await installMariadb();
  } catch (error) {
    throw noServer(flavor, error);
  }
}

async function installMariadb(): Promise<Program | undefined> {
  if (process.getuid?.() !== 0) throw new Error('Installing MariaDB takes root.');
  await aptInstall(MARIADB_PACKAGE);
  return await findInstalled('mariadb');
}

function noServer(flavor: Flavor, cause?: unknown): Error {
  const [name, program] =
    flavor === 'mysql' ? ['MySQL', 'mysqld, 8.0 or newer'] : ['MariaDB', 'mariadbd, 10.4 or newer'];
  const why = cause instanceof Error ? ` (${cause.message.trim()})` : '';
  return new Error(
    `No ${name} server was found on this machine, and none could be installed${why}. ` +
      `Install one (a program named ${program}, on the PATH is enough), ` +
      'or name a running one in DATABASE_URL, like mysql://user:password@127.0.0.1:3306/test.',
    { cause },
  );
}
