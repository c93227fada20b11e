import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { aptUnpack } from './apt.js';
import { programAt } from './program.js';
import type { Program } from './server-types.js';
import { cached, cacheFolder, exists } from './shell.js';

const NAME = 'mysql';
const PACKAGE = 'mysql-server-core';

/** The MySQL that an earlier run unpacked into the cache. */
export async function unpackedMysql(): Promise<Program | undefined> {
  const root = join(await cacheFolder(), NAME);
  return (await exists(root)) ? await programIn(root) : undefined;
}

/** Unpacks the newest MySQL into the cache: 48 MB to download, 330 MB on disk. */
export async function unpackMysql(): Promise<Program | undefined> {
  return await programIn(await cached(NAME, (directory) => aptUnpack(PACKAGE, directory)));
}

/** Runs through the unpacked loader and libraries: they are newer than this machine's. */
async function programIn(root: string): Promise<Program | undefined> {
  const libraries = await findOne(join(root, 'usr/lib'), /-linux-gnu/);
  const loader = await findOne(libraries, /^ld-linux/);
  const share = join(root, 'usr/share/mysql');
  const places = [
    `--basedir=${join(root, 'usr')}`,
    `--plugin-dir=${join(root, 'usr/lib/mysql/plugin')}`,
    `--lc-messages-dir=${share}`,
    `--character-sets-dir=${join(share, 'charsets')}`,
  ];
  return await programAt(join(root, 'usr/sbin/mysqld'), [loader, '--library-path', libraries], places);
}

/** Debian names libraries' folders, and the loader, after the architecture. */
async function findOne(folder: string, pattern: RegExp): Promise<string> {
  const name = (await readdir(folder)).find((entry) => pattern.test(entry));
  if (!name) throw new Error(`Expected ${String(pattern)} in ${folder}.`);
  return join(folder, name);
}
