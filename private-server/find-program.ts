import { readdir } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { aptInstall, aptUnpack, hasApt } from './apt.js';
import type { Flavor, Program } from './server-types.js';
import { cached, exists, run } from './shell.js';

/** Where servers are that are not on the PATH of a user. */
const FURTHER = ['/usr/sbin', '/usr/local/sbin', '/usr/libexec', '/opt/homebrew/bin', '/usr/local/mysql/bin'];
const MYSQL_PACKAGE = 'mysql-server-core';
const MARIADB_PACKAGE = 'mariadb-server-core';

/**
 * Finds a server program of this flavour, or installs one; `INTERLOCK_NO_INSTALL` in the environment forbids that.
 * @param folders where to look
 * @throws an Error that says what to do
 */
export async function findProgram(flavor: Flavor, folders?: readonly string[]): Promise<Program> {
  try {
    const program = (await findInstalled(flavor, folders)) ?? (await install(flavor));
    if (program) return program;
  } catch (error) {
    return noServer(flavor, error);
  }
  return noServer(flavor);
}

/** A program of this flavour on this machine. */
export async function findInstalled(
  flavor: Flavor,
  folders: readonly string[] = usualFolders(),
): Promise<Program | undefined> {
  const names = flavor === 'mysql' ? ['mysqld'] : ['mariadbd', 'mysqld'];
  for (const path of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    const program = (await exists(path)) ? await programAt(path, []) : undefined;
    if (program?.flavor === flavor) return program;
  }
  return undefined;
}

function usualFolders(): string[] {
  return [...(process.env.PATH ?? '').split(delimiter), ...FURTHER];
}

async function install(flavor: Flavor): Promise<Program | undefined> {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || process.env.INTERLOCK_NO_INSTALL || !(await hasApt())) return undefined;
  if (flavor === 'mysql') return await unpackedMysql();
  await aptInstall(MARIADB_PACKAGE);
  return await findInstalled('mariadb');
}

/** Runs through the unpacked loader and libraries: they are newer than this machine's. */
async function unpackedMysql(): Promise<Program | undefined> {
  const root = await cached('mysql', (directory) => aptUnpack(MYSQL_PACKAGE, directory));
  const libraries = await findLibraries(join(root, 'usr/lib'));
  const loader = (await readdir(libraries)).find((file) => file.startsWith('ld-linux'));
  if (!loader) throw new Error(`No dynamic loader was unpacked to ${libraries}.`);
  const server = join(root, 'usr/sbin/mysqld');
  const share = join(root, 'usr/share/mysql');
  const before = ['--library-path', `${libraries}:${join(libraries, 'private')}`, server, '--no-defaults'];
  const places = [
    `--basedir=${join(root, 'usr')}`,
    `--lc-messages-dir=${share}`,
    `--plugin-dir=${join(root, 'usr/lib/mysql/plugin')}`,
  ];
  const args = [...before, ...places, `--character-sets-dir=${join(share, 'charsets')}`];
  return await programAt(join(libraries, loader), args, share);
}

/** Debian keeps a machine's libraries in a folder named after its architecture, like `x86_64-linux-gnu`. */
async function findLibraries(folder: string): Promise<string> {
  const name = (await readdir(folder)).find((entry) => entry.endsWith('-linux-gnu'));
  if (!name) throw new Error(`No libraries were unpacked to ${folder}.`);
  return join(folder, name);
}

async function programAt(
  command: string,
  before: readonly string[],
  shareDir?: string,
): Promise<Program | undefined> {
  const args = before.length > 0 ? before : ['--no-defaults'];
  const printed = await run(command, [...args, '--version']);
  const version = /\d+\.\d+\.\d+/.exec(printed)?.[0];
  if (!version) return undefined;
  const flavor = printed.includes('MariaDB') ? 'mariadb' : 'mysql';
  return { flavor, version, command, args, shareDir: shareDir ?? (await shareOf(command)) };
}

async function shareOf(command: string): Promise<string> {
  const share = resolve(dirname(command), '../share');
  for (const folder of ['mysql', 'mariadb'])
    if (await exists(join(share, folder))) return join(share, folder);
  return share;
}

function noServer(flavor: Flavor, cause?: unknown): never {
  const [name, program] = flavor === 'mysql' ? ['MySQL', 'mysqld'] : ['MariaDB', 'mariadbd'];
  const why = cause instanceof Error ? ` (${cause.message})` : '';
  throw new Error(
    `No ${name} server was found on this machine, and none could be installed${why}. ` +
      `Install one (a program named ${program} on the PATH is enough), ` +
      'or name a running one in DATABASE_URL, like mysql://user:password@127.0.0.1:3306/test.',
    { cause },
  );
}
