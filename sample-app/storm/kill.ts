/**
 * Kills the process that archives a site, with -9 in the middle of its work, and tells who took over, and when.
 *
 *   npx tsx sample-app/storm/kill.ts [site] [address]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SiteReport } from '../archive/archive.service.js';
import type { ShownLock } from '../locks.controller.js';
import { archive, get } from './requests.js';

const [site = 'kitchen', address = 'http://127.0.0.1:3000'] = process.argv.slice(2);
/** Enough for some chunks of lines to be archived, and for the others to be waiting. */
const MIDDLE_MS = 600;

async function holder(): Promise<number> {
  for (;;) {
    const locks = await get<ShownLock[]>(`${address}/locks`);
    const lock = locks.find(({ name }) => name === `site:${site}`);
    if (lock) return lock.pid;
    await sleep(20);
  }
}

const broken = archive(address, site, true);
const pid = await holder();
// Two, since one of them may have come to the very process that is about to be killed.
const waiting = [archive(address, site, false), archive(address, site, false)];
console.log(`Process ${pid} archives ${site}; others wait for their turn.`);
await sleep(MIDDLE_MS);

process.kill(pid, 'SIGKILL');
const killed = Date.now();
console.log(`Killed process ${pid} with -9.`);

const answers = await Promise.all([broken, ...waiting]);
const next = answers
  .flatMap(({ archived }) => archived ?? [])
  .sort((one, other) => one.began - other.began)[0];
if (!next) throw new Error(`Expected another process to archive ${site}, and none did.`);
console.log(
  `Process ${next.pid} took over ${next.began - killed} ms later, and went on at line ${next.resumedAt}.`,
);

const report = await get<SiteReport>(`${address}/sites/${site}/report`);
const verdict = report.consistent
  ? 'exactly what counting them again gives'
  : 'NOT what counting them again gives';
console.log(`The report counts ${report.linesArchived} of ${report.linesTotal} lines: ${verdict}.`);
