/**
 * Writes `data/access.log`: five days of visits to four sites, in the combined log format with the site in front.
 * The same seed gives the same log, byte for byte.
 *
 *   npx tsx sample-app/log/generate-log.ts
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SEED = 20_261_101;
const LINES = 24_000;
const FIRST_DAY = Date.UTC(2026, 10, 1);
const DAYS = 5;

const SITES = {
  garden: ['/', '/roses', '/tools/spade', '/calendar', '/soil', '/seeds?page=2', '/contact'],
  kitchen: ['/', '/recipes/soup', '/recipes/bread', '/knives', '/search?q=leek', '/newsletter'],
  harbour: ['/', '/tides', '/ferries', '/ferries/timetable', '/webcam', '/berths'],
  museum: ['/', '/visit', '/exhibitions/glass', '/exhibitions/maps', '/shop', '/shop/cards', '/tickets'],
} as const;
const REFERRERS = [
  '-',
  '-',
  '-',
  'https://search.example/',
  'https://news.example/today',
  'https://social.example/p/81',
];
const BROWSERS = [
  'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 15_1) Version/19.0 Safari/605.1.15',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/156.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) Mobile/15E148',
];
const BOTS = ['ExampleBot/2.1 (+https://bot.example)', 'FeedFetcher/1.0'];

interface Hit {
  readonly at: number;
  readonly line: string;
}

/** A small generator of pseudo-random numbers (mulberry32): the same everywhere. @returns 0 up to, not including, 1 */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The whole log, in order of time. */
export function generateLog(): string {
  const random = randomFrom(SEED);
  const hits: Hit[] = [];
  while (hits.length < LINES) hits.push(...visit(random));
  hits.length = LINES;
  hits.sort((one, other) => one.at - other.at);
  return hits.map(({ line }) => `${line}\n`).join('');
}

/** One visitor's way through one site: a few pages, some seconds to minutes apart. */
function visit(random: () => number): Hit[] {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const site = pick(Object.keys(SITES) as (keyof typeof SITES)[]);
  const isBot = random() < 0.08;
  const ip = `203.0.113.${1 + Math.floor(random() * 250)}`;
  const browser = pick(isBot ? BOTS : BROWSERS);
  let at = FIRST_DAY + Math.floor(timeOfDay(random) + Math.floor(random() * DAYS) * 86_400_000);
  let referrer = pick(REFERRERS);
  const pages = random() < 0.35 ? 1 : 2 + Math.floor(random() * 7);
  return Array.from({ length: pages }, () => {
    const path = pick(SITES[site]);
    const status = random() < 0.03 ? 404 : random() < 0.05 ? 304 : 200;
    const bytes = status === 200 ? 900 + Math.floor(random() * 60_000) : 0;
    const line = `${site} ${ip} - - [${stamp(at)}] "GET ${path} HTTP/1.1" ${status} ${bytes} "${referrer}" "${browser}"`;
    const hit = { at, line };
    at += 2_000 + Math.floor(random() * 180_000);
    referrer = `https://${site}.example${path}`;
    return hit;
  });
}

/** More by day than by night: the mean of three draws gathers around noon. */
function timeOfDay(random: () => number): number {
  return ((random() + random() + random()) / 3) * 82_800_000;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function stamp(at: number): string {
  const date = new Date(at);
  const day = String(date.getUTCDate()).padStart(2, '0');
  return `${day}/${MONTHS[date.getUTCMonth()]}/${date.getUTCFullYear()}:${date.toISOString().slice(11, 19)} +0000`;
}

const file = fileURLToPath(new URL('../data/access.log', import.meta.url));
if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(file, generateLog());
