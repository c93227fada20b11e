/** Starts the sample: a private database, and three processes on one port. Ctrl-C ends it all. */
import cluster, { type Address, type Worker } from 'node:cluster';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { anyServer } from '../private-server/index.js';
import { help } from './help.js';

const PROCESSES = 3;
/** More than the lock service takes to drain: only a process that hangs, or is stopped, is still there then. */
const STOPS_WITHIN_MS = 20_000;
const LOOKS_FOR_NPM_EVERY_MS = 200;

/** What started us: npm, or the shell that it puts between. */
const parent = process.ppid;

const database = await anyServer();
const folder = process.env.ARCHIVE_FOLDER ?? (await mkdtemp(join(tmpdir(), 'archive-')));
const environment = { DATABASE_URL: database.url, ARCHIVE_FOLDER: folder };
let isStopping = false;

cluster.setupPrimary({
  exec: fileURLToPath(new URL('worker.ts', import.meta.url)),
  execArgv: process.execArgv,
});
// Each may come twice: the terminal sends it to all processes, and npm and tsx pass it on.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop());
if (process.env.npm_lifecycle_event) stopWithParent();

// One first: whatever is wrong is then said once.
const address = await listening(startWorker());
await Promise.all(Array.from({ length: PROCESSES - 1 }, () => listening(startWorker())));
const pids = workers().map((worker) => worker.process.pid!);
console.log(help(`http://127.0.0.1:${address.port}`, pids));

/** A process that is killed is replaced: the sample invites to it. */
function startWorker(): Worker {
  const worker = cluster.fork(environment);
  worker.once('exit', (code: number | null, signal: string | null) => {
    if (code && !isStopping) void stop(code);
    if (isStopping) return;
    const next = startWorker();
    console.log(
      `Process ${worker.process.pid} ended (${signal ?? code}); process ${next.process.pid} takes its place.`,
    );
  });
  return worker;
}

async function listening(worker: Worker): Promise<Address> {
  const [address] = (await once(worker, 'listening')) as [Address];
  return address;
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).flatMap((worker) => (worker?.isDead() === false ? worker : []));
}

/** npm's shell dies of SIGTERM without passing it on, and npm itself may be killed: nobody would ever end us then. */
function stopWithParent(): void {
  setInterval(() => process.ppid !== parent && void stop(), LOOKS_FOR_NPM_EVERY_MS).unref();
}

/** Lets running archives finish, then takes everything away. @param code of a process that could not work */
async function stop(code = 0): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  await Promise.all(workers().map(stopWorker));
  await database.stop();
  if (process.env.ARCHIVE_FOLDER === undefined) await rm(folder, { recursive: true, force: true });
  process.exit(code);
}

async function stopWorker(worker: Worker): Promise<void> {
  const exit = once(worker, 'exit');
  worker.process.kill('SIGTERM');
  const impatience = setTimeout(() => worker.process.kill('SIGKILL'), STOPS_WITHIN_MS);
  await exit;
  clearTimeout(impatience);
}
