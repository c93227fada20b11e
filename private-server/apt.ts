import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exists, run } from './shell.js';

const NONINTERACTIVE = { DEBIAN_FRONTEND: 'noninteractive' };

/** Whether this machine installs software with apt. */
export async function hasApt(): Promise<boolean> {
  return await exists('/usr/bin/apt-get');
}

/** Installs a package on this machine. Needs root. */
export async function aptInstall(name: string): Promise<void> {
  await run('apt-get', ['update', '-qq'], NONINTERACTIVE);
  await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', name], NONINTERACTIVE);
}

/**
 * Unpacks a package of Debian's newest suite with everything it depends on into one directory, the C library included.
 * Nothing of this machine is changed: apt works on lists and a state of its own, and takes what the machine's own
 * mirror has.
 */
export async function aptUnpack(name: string, into: string): Promise<void> {
  const work = join(into, '.apt');
  const parts = join(work, 'sources');
  await mkdir(join(work, 'lists/partial'), { recursive: true });
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true });
  await mkdir(parts);
  await writeFile(join(parts, 'newest.list'), `deb ${await mirror()} sid main\n`);
  const own = [
    ...['-o', 'Dir::Etc::SourceList=/dev/null', '-o', `Dir::Etc::SourceParts=${parts}`],
    ...['-o', `Dir::State::Lists=${join(work, 'lists')}`, '-o', `Dir::Cache=${join(work, 'cache')}`],
    // With an empty state nothing counts as installed: every dependency is downloaded.
    ...['-o', 'Dir::State::status=/dev/null', '-o', 'APT::Sandbox::User=root'],
  ];
  await run('apt-get', [...own, 'update', '-qq'], NONINTERACTIVE);
  await run('apt-get', [...own, 'install', '-y', '-qq', '--no-install-recommends', '--download-only', name]);
  const archives = join(work, 'cache/archives');
  const packages = (await readdir(archives)).filter((file) => file.endsWith('.deb'));
  for (const file of packages) await run('dpkg', ['-x', join(archives, file), into]);
  await run('rm', ['-rf', work]);
}

/** The mirror of Debian's own archive that this machine is set up with, in either form of apt's sources. */
async function mirror(): Promise<string> {
  const parts = '/etc/apt/sources.list.d';
  const names = (await exists(parts)) ? (await readdir(parts)).map((file) => join(parts, file)) : [];
  for (const file of ['/etc/apt/sources.list', ...names]) {
    const found = (await exists(file)) && mirrorIn(await readFile(file, 'utf8'));
    if (found) return found;
  }
  throw new Error('No mirror of the Debian archive was found in the sources of apt.');
}

/** The archive itself ends in `/debian`; its security updates, and third parties, do not. */
function mirrorIn(sources: string): string | undefined {
  const oneLine = /^deb\s+(?:\[[^\]]*\]\s+)?(\S+\/debian\/?)\s+\S+.*\bmain\b/m.exec(sources);
  const stanza = /^URIs:\s*(\S+\/debian\/?)\s*$/m.exec(sources);
  return oneLine?.[1] ?? stanza?.[1];
}
