/**
 * Asks the running sample for many archives at once, and tells what became of them.
 *
 *   npx tsx sample-app/storm/main.ts [archives] [address]
 */
import { command, CommandError } from './command.js';
import { get } from './requests.js';
import { storm, type SiteOutcome } from './storm.js';

await command(async ([archives = '30', address = 'http://127.0.0.1:3000']) => {
  const wanted = Number(archives);
  if (!Number.isInteger(wanted) || wanted < 1)
    throw new CommandError(`Expected a number of archives, 1 or more, and got '${archives}'.`);
  const sites = await get<string[]>(`${address}/sites`);
  console.log(`Asking for ${wanted} archives of ${sites.join(', ')}, all at once ...`);
  tell(await storm(address, sites, wanted));
});

function tell(outcomes: readonly SiteOutcome[]): void {
  const rows = outcomes.map(({ site, pids, ...figures }) => [site, { ...figures, pids: pids.join(' ') }]);
  console.table(Object.fromEntries(rows));
  const overlaps = outcomes.reduce((sum, outcome) => sum + outcome.overlaps, 0);
  console.log(
    `Two archives of one site at the same time: ${overlaps === 0 ? 'never' : `${overlaps} times`}.`,
  );
}
