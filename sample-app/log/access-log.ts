import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('../data/access.log', import.meta.url));
const LINE = /^(\S+) (\S+) \S+ \S+ \[([^\]]+)\] "GET (\S+) [^"]*" (\d{3}) \d+ "[^"]*" "([^"]*)"$/;
const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';

/** One page view. */
export interface Hit {
  readonly site: string;
  readonly visitor: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly path: string;
  readonly status: number;
  readonly isBot: boolean;
}

/** The log of all sites, in order of time, read once. */
export function readLog(): ReadonlyMap<string, readonly Hit[]> {
  const sites = new Map<string, Hit[]>();
  for (const line of readFileSync(FILE, 'utf8').split('\n').filter(Boolean)) {
    const hit = parse(line);
    const hits = sites.get(hit.site);
    if (hits) hits.push(hit);
    else sites.set(hit.site, [hit]);
  }
  return sites;
}

function parse(line: string): Hit {
  const match = LINE.exec(line);
  if (!match) throw new Error(`Expected a line of an access log and got: ${line}`);
  const [, site, ip, stamp, url, status, browser] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  return {
    ...{ site, status: Number(status), isBot: /bot|fetcher/i.test(browser) },
    ...{ visitor: `${ip} ${browser}`, at: timeOf(stamp), path: url.split('?')[0]! },
  };
}

/** `01/Nov/2026:08:15:00 +0000` */
function timeOf(stamp: string): number {
  const month = MONTHS.indexOf(stamp.slice(3, 6)) / 3;
  const [hours, minutes, seconds] = stamp.slice(12, 20).split(':').map(Number) as [number, number, number];
  return Date.UTC(Number(stamp.slice(7, 11)), month, Number(stamp.slice(0, 2)), hours, minutes, seconds);
}
