import type { Hit } from '../log/access-log.js';

/** A pause that ends a visit, in milliseconds. */
const VISIT_ENDS_MS = 30 * 60_000;
const TOP_PAGES = 5;

/** One day of one site while it is being counted; plain data, so that a half-done one can be written down and resumed. */
export interface DayCount {
  pageViews: number;
  errors: number;
  visits: number;
  /** Visits of one page. */
  bounces: number;
  pages: Record<string, number>;
  /** Each visitor's last page view, and how many pages the visit has by then. */
  visitors: Record<string, { at: number; pages: number }>;
}

/** One day of one site, for people. */
export interface DailyReport {
  readonly date: string;
  readonly visits: number;
  readonly visitors: number;
  readonly pageViews: number;
  readonly errors: number;
  /** 0 to 1. */
  readonly bounceRate: number;
  readonly topPages: readonly { readonly path: string; readonly views: number }[];
}

export type DayCounts = Record<string, DayCount>;

/** Counts one page view in. Bots do not count. */
export function count(days: DayCounts, hit: Hit): void {
  if (hit.isBot) return;
  const date = new Date(hit.at).toISOString().slice(0, 10);
  const day = (days[date] ??= { pageViews: 0, errors: 0, visits: 0, bounces: 0, pages: {}, visitors: {} });
  day.pageViews += 1;
  if (hit.status >= 400) day.errors += 1;
  day.pages[hit.path] = (day.pages[hit.path] ?? 0) + 1;
  countVisit(day, hit);
}

/** A visit counts as a bounce until its second page. */
function countVisit(day: DayCount, { visitor, at }: Hit): void {
  const last = day.visitors[visitor];
  const isNew = !last || at - last.at > VISIT_ENDS_MS;
  const pages = isNew ? 1 : last.pages + 1;
  if (isNew) {
    day.visits += 1;
    day.bounces += 1;
  } else if (pages === 2) {
    day.bounces -= 1;
  }
  day.visitors[visitor] = { at, pages };
}

/** The reports of counted days, in order. */
export function reportsOf(days: DayCounts): DailyReport[] {
  return Object.keys(days)
    .sort()
    .map((date) => reportOf(date, days[date]!));
}

function reportOf(
  date: string,
  { pageViews, errors, visits, bounces, pages, visitors }: DayCount,
): DailyReport {
  const topPages = Object.entries(pages)
    .map(([path, views]) => ({ path, views }))
    .sort((one, other) => other.views - one.views || (one.path < other.path ? -1 : 1))
    .slice(0, TOP_PAGES);
  const bounceRate = Math.round((bounces / visits) * 1_000) / 1_000;
  return { date, visits, visitors: Object.keys(visitors).length, pageViews, errors, bounceRate, topPages };
}
