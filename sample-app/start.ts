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

const database = await anyServer();
const folder = process.env.ARCHIVE_FOLDER ?? (await mkdtemp(join(tmpdir(), 'archive-')));
const environment = { DATABASE_URL: database.url, ARCHIVE_FOLDER: folder };
let isStopping = false;

cluster.setupPrimary({
  exec: fileURLToPath(new URL('worker.ts', import.meta.url)),
  execArgv: process.execArgv,
});
process.once('SIGINT', () => void stop());
process.once('SIGTERM', () => void stop());

const workers = Array.from({ length: PROCESSES }, () => startWorker());
const [[address]] = (await Promise.all(workers.map((worker) => once(worker, 'listening')))) as [[Address]];
const pids = Object.values(cluster.workers ?? {}).map((worker) => worker!.process.pid);
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

/** Lets running archives finish, then takes everything away. @param code of a process that could not work */
async function stop(code = 0): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  const running = Object.values(cluster.workers ?? {}).map((worker) => worker!);
  const exits = running.map((worker) => once(worker, 'exit'));
  for (const worker of running) worker.process.kill('SIGTERM');
  await Promise.all(exits);
  await database.stop();
  if (process.env.ARCHIVE_FOLDER === undefined) await rm(folder, { recursive: true, force: true });
  process.exit(code);
}
