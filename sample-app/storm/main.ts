/**
 * Asks the running sample for many archives at once, and tells what became of them.
 *
 *   npx tsx sample-app/storm/main.ts [archives] [address]
 */
import { get } from './requests.js';
import { storm } from './storm.js';

const [archives = '30', address = 'http://127.0.0.1:3000'] = process.argv.slice(2);

const sites = await get<string[]>(`${address}/sites`);
console.log(`Asking for ${archives} archives of ${sites.join(', ')}, all at once ...`);
const outcomes = await storm(address, sites, Number(archives));
console.table(
  Object.fromEntries(
    outcomes.map(({ site, pids, ...figures }) => [site, { ...figures, pids: pids.join(' ') }]),
  ),
);
const overlaps = outcomes.reduce((sum, outcome) => sum + outcome.overlaps, 0);
console.log(`Two archives of one site at the same time: ${overlaps === 0 ? 'never' : `${overlaps} times`}.`);
