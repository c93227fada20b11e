/**
 * Asks the running sample for many archives at once, and tells what became of them.
 *
 *   npx tsx sample-app/storm/main.ts [archives] [address]
 */
import { storm } from './storm.js';

const [archives = '30', address = 'http://127.0.0.1:3000'] = process.argv.slice(2);

const sites = (await (await fetch(`${address}/sites`)).json()) as string[];
console.log(`Asking for ${archives} archives of ${sites.join(', ')}, all at once ...`);
console.table(await storm(address, sites, Number(archives)));
