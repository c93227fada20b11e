import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, exists, run } from './shell.js';

const NONINTERACTIVE = { DEBIAN_FRONTEND: 'noninteractive' };
const INSTALL = ['install', '-y', '-qq', '--no-install-recommends'];
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Whether this machine installs software with apt. */
export async function hasApt(): Promise<boolean> {
  return await exists('/usr/bin/apt-get');
}

/** Installs a package on this machine. Needs root. */
export async function aptInstall(name: string): Promise<void> {
  await updateLists();
  await exclusively('apt-get', ['-o', 'DPkg::Lock::Timeout=300', ...INSTALL, name]);
}

/**
 * Unpacks a package of Debian's newest suite with everything it depends on into one directory, the C library included.
 * Nothing of this machine is changed, and root is not needed: apt works on lists and a state of its own, and takes what
 * the machine's own mirror has.
 */
export async function aptUnpack(name: string, into: string): Promise<void> {
  const work = join(into, '.apt');
  const archives = join(work, 'cache/archives');
  for (const folder of ['lists/partial', 'cache/archives/partial', 'sources'])
    await mkdir(join(work, folder), { recursive: true });
  const signedBy = (await exists(KEYRING)) ? `[signed-by=${KEYRING}] ` : '';
  await writeFile(join(work, 'sources/newest.list'), `deb ${signedBy}${await mirror()} sid main\n`);
  await run('apt-get', [...apart(work), 'update', '-qq'], NONINTERACTIVE);
  await run('apt-get', [...apart(work), ...INSTALL, '--download-only', name], NONINTERACTIVE);
  const packages = (await readdir(archives)).filter((file) => file.endsWith('.deb'));
  for (const file of packages) await run('dpkg', ['-x', join(archives, file), into]);
  await rm(work, { recursive: true });
}

/** The options by which apt leaves the machine's own files alone. */
function apart(work: string): string[] {
  const options = [
    ...['Dir::Etc::SourceList=/dev/null', `Dir::Etc::SourceParts=${join(work, 'sources')}`],
    ...['Dir::Etc::Preferences=/dev/null', 'Dir::Etc::PreferencesParts=/dev/null'],
    ...[`Dir::State::Lists=${join(work, 'lists')}`, `Dir::Cache=${join(work, 'cache')}`],
    // With an empty state nothing counts as installed: every dependency is downloaded.
    ...['Dir::State::status=/dev/null', 'Debug::NoLocking=true'],
    // Else apt downloads as a user of its own, who may not enter our folder.
    'APT::Sandbox::User=',
  ];
  return options.flatMap((option) => ['-o', option]);
}

/** The mirror of Debian's own archive that this machine is set up with. */
async function mirror(): Promise<string> {
  const known = (await mirrors())[0];
  if (known) return known;
  // A fresh container has sources and no lists.
  await updateLists();
  const found = (await mirrors())[0];
  if (!found) throw new Error("None of apt's sources is a mirror of the Debian archive.");
  return found;
}

/** As apt itself reads its sources, whatever their form: third parties' name another origin, security updates another label. */
async function mirrors(): Promise<string[]> {
  const filter = ['Created-By: Packages', 'Origin: Debian', 'Label: Debian', 'Component: main'];
  const printed = await run('apt-get', ['indextargets', '--format', '$(REPO_URI)', ...filter]);
  return printed.split('\n').filter(Boolean);
}

/** Goes on when one of the machine's sources cannot be reached: it need not be the one that is needed. */
async function updateLists(): Promise<void> {
  await exclusively('sh', ['-c', 'apt-get update -qq || exit 0']);
}

/** apt refuses to work while another one does; ours wait for each other. The lock goes with the process that holds it. */
async function exclusively(command: string, args: readonly string[]): Promise<void> {
  await run('flock', [join(await cacheFolder(), 'apt.lock'), command, ...args], NONINTERACTIVE);
}
