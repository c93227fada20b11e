// For a PID namespace of its own: lets the id of an ended worker thread become that of another process's thread.
// Says 'reused' when it did, then how it judges the ended thread, with and without a record of its start.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { probe } from '../../../lib/process/liveness.js';
import { codeOf } from '../../../lib/process/system.js';
import { startOwnerThread } from './start-owner-thread.js';

/** The kernel gives ids in order; the next one is the first free id after the one written here. */
const LAST_PID = '/proc/sys/kernel/ns_last_pid';
if (!existsSync(LAST_PID)) {
  console.log('the ids of new processes cannot be chosen here');
  process.exit();
}

writeFileSync(LAST_PID, '1000');
const { worker, owner } = await startOwnerThread();
await worker.terminate();
// The process gets the id before the thread's, and its own first thread the next one.
writeFileSync(LAST_PID, String(owner.thread - 2));
const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60_000)']);
await once(other, 'spawn');
const isReused = () => {
  try {
    return readFileSync(`/proc/${owner.thread}/status`, 'utf8').includes(`Tgid:\t${other.pid}\n`);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
};
for (let tries = 0; tries < 1_000 && !isReused(); tries++) await sleep(5);
console.log(isReused() && other.pid !== owner.thread ? 'reused' : 'not reused');
console.log(probe(owner));
console.log(probe({ ...owner, started: '' }));
process.exit();
