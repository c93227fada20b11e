/**
 * Kills the process that archives a site, with -9 in the middle of its work, and tells who took over, and when.
 *
 *   npx tsx sample-app/storm/kill.ts [site] [address]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SiteReport } from '../archive/archive.service.js';
import type { ShownLock } from '../locks.controller.js';
import { command, CommandError } from './command.js';
import { archive, get, type Answer } from './requests.js';

/** Enough for some chunks of lines to be archived, and for the others to be waiting. */
const MIDDLE_MS = 600;
/** Of looking for the process that archives. */
const PATIENCE_MS = 10_000;

await command(async ([site = 'kitchen', address = 'http://127.0.0.1:3000']) => {
  await expectSite(address, site);
  const broken = archive(address, site, true);
  const pid = await holderOf(address, site);
  // Two, since one of them may have come to the very process that is about to be killed.
  const waiting = [archive(address, site, false), archive(address, site, false)];
  console.log(`Process ${pid} archives ${site}; others wait for their turn.`);
  await sleep(MIDDLE_MS);

  process.kill(pid, 'SIGKILL');
  const killed = Date.now();
  console.log(`Killed process ${pid} with -9.`);
  tellSuccessor(site, killed, await Promise.all([broken, ...waiting]));
  tellReport(await get<SiteReport>(`${address}/sites/${site}/report`));
});

async function expectSite(address: string, site: string): Promise<void> {
  const sites = await get<string[]>(`${address}/sites`);
  if (!sites.includes(site))
    throw new CommandError(`There is no site '${site}'; there are ${sites.join(', ')}.`);
}

/** @returns the process that archives a site, as soon as one does */
async function holderOf(address: string, site: string): Promise<number> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const locks = await get<ShownLock[]>(`${address}/locks`);
    const lock = locks.find(({ name }) => name === `site:${site}`);
    if (lock) return lock.pid;
    await sleep(20);
  }
  throw new CommandError(`Expected a process to archive ${site}, and saw none for ${PATIENCE_MS / 1000} s.`);
}

function tellSuccessor(site: string, killed: number, answers: readonly Answer[]): void {
  const [next] = answers
    .flatMap(({ archived }) => archived ?? [])
    .sort((one, other) => one.began - other.began);
  if (!next) throw new CommandError(`Expected another process to archive ${site}, and none did.`);
  const after = next.began - killed;
  console.log(`Process ${next.pid} took over ${after} ms later, and went on at line ${next.resumedAt}.`);
}

function tellReport({ linesArchived, linesTotal, consistent }: SiteReport): void {
  const verdict = consistent
    ? 'exactly what counting them again gives'
    : 'NOT what counting them again gives';
  console.log(`The report counts ${linesArchived} of ${linesTotal} lines: ${verdict}.`);
}
