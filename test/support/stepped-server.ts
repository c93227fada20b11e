import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aptInstall } from '../../private-server/apt.js';
import { startServer, type Flavor } from '../../private-server/index.js';

/** A private server whose wall clock can be stepped; its monotonic clock, and everybody else's, goes on. */
export interface SteppedServer {
  /** Of a database of its own. */
  readonly url: string;
  /** Sets how far its clock is ahead of the machine's, in seconds. */
  readonly setAhead: (seconds: number) => void;
  readonly stop: () => Promise<void>;
}

/** Starts one under libfaketime, which root on Debian and Ubuntu can install. */
export async function startSteppedServer(flavor: Flavor): Promise<SteppedServer> {
  const folder = mkdtempSync(join(tmpdir(), 'stepped-'));
  const file = join(folder, 'offset');
  // The whole file in one write of a few bytes: the server never reads half of it.
  const setAhead = (seconds: number) => writeFileSync(file, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  setAhead(0);
  const env = {
    LD_PRELOAD: await faketime(),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  const server = await startServer({ flavor, env });
  const stop = async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url: await server.createDatabase(), setAhead, stop };
}

async function faketime(): Promise<string> {
  const found = findFaketime();
  if (found) return found;
  await aptInstall('libfaketime');
  return findFaketime() ?? cannot();
}

function findFaketime(): string | undefined {
  const libraries = readdirSync('/usr/lib').filter((name) => name.endsWith('-linux-gnu'));
  const folders = libraries.map((name) => join('/usr/lib', name));
  const inFolder = folders.find((folder) => readdirSync(folder).includes('faketime'));
  return inFolder && join(inFolder, 'faketime/libfaketimeMT.so.1');
}

function cannot(): never {
  throw new Error(
    'Expected libfaketime on this machine, to step the clock of a database: install the package libfaketime.',
  );
}
