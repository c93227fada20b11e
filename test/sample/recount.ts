import type { DailyReport } from '../../sample-app/archive/daily-report.js';

const VISIT_ENDS_MS = 30 * 60_000;

interface View {
  readonly date: string;
  readonly at: number;
  readonly visitor: string;
  readonly path: string;
  readonly status: number;
}

/** The daily reports of a site straight from the text of the log, all at once: another way than the sample's own. */
export function recount(log: string, site: string): DailyReport[] {
  const lines = log.split('\n').filter((line) => line.startsWith(`${site} `) && !/bot|fetcher/i.test(line));
  const days = groupBy(lines.map(viewOf), ({ date }) => date);
  return [...days].map(([date, views]) => reportOf(date, views));
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

/** How many lines of the log are a site's. */
export function linesOf(log: string, site: string): number {
  return log.split('\n').filter((line) => line.startsWith(`${site} `)).length;
}

function viewOf(line: string): View {
  const [start, request, result, , , browser] = line.split('"') as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const [, day, month, year, time] = /\[(\d+)\/(\w+)\/(\d+):([\d:]+)/.exec(start)!;
  const at = Date.parse(`${day} ${month} ${year} ${time} UTC`);
  const path = request.split(' ')[1]!.replace(/\?.*/, '');
  const visitor = start.split(' ')[1]! + browser;
  return {
    at,
    date: new Date(at).toISOString().slice(0, 10),
    visitor,
    path,
    status: Number(result.trim().slice(0, 3)),
  };
}

function reportOf(date: string, views: readonly View[]): DailyReport {
  const visitors = groupBy(views, ({ visitor }) => visitor);
  const visits = [...visitors.values()].flatMap(visitsOf);
  const bounces = visits.filter((pages) => pages === 1).length;
  const pages = [...groupBy(views, ({ path }) => path)].map(([path, { length }]) => ({
    path,
    views: length,
  }));
  return {
    ...{ date, visits: visits.length, visitors: visitors.size, pageViews: views.length },
    errors: views.filter(({ status }) => status >= 400).length,
    bounceRate: Number((bounces / visits.length).toFixed(3)),
    topPages: pages
      .sort((one, other) => other.views - one.views || one.path.localeCompare(other.path))
      .slice(0, 5),
  };
}

/** @returns how many pages each visit of one visitor has */
function visitsOf(views: readonly View[]): number[] {
  const starts = views.flatMap(({ at }, index) =>
    index === 0 || at - views[index - 1]!.at > VISIT_ENDS_MS ? index : [],
  );
  return starts.map((start, index) => (starts[index + 1] ?? views.length) - start);
}
