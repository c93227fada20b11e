import type { Archived } from '../archive/archive.service.js';
import { archive, type Answer } from './requests.js';

/** What became of many archives of one site that were asked for at once. */
export interface SiteOutcome {
  readonly site: string;
  readonly asked: number;
  /** Ran, in these processes. */
  readonly archived: number;
  readonly pids: readonly number[];
  /** Of those that ran: the longest time that one had waited for its turn. */
  readonly longestWaitMs: number;
  /** Were still waiting when their patience ended. */
  readonly answered423: number;
  /** Broke off, because their process was killed or the lock was lost. */
  readonly failed: number;
  /** Began before the one before had ended. The lock is there to keep this 0. */
  readonly overlaps: number;
}

/** Asks for so many archives at once, all sites in turn, over as many connections. */
export async function storm(
  address: string,
  sites: readonly string[],
  archives: number,
): Promise<SiteOutcome[]> {
  const asked = Array.from({ length: archives }, (_, index) => sites[index % sites.length]!);
  const answers = await Promise.all(asked.map((site) => archive(address, site, true)));
  return sites.map((site) =>
    outcomeOf(
      site,
      answers.filter((answer) => answer.site === site),
    ),
  );
}

function outcomeOf(site: string, answers: readonly Answer[]): SiteOutcome {
  const runs = answers
    .flatMap(({ archived }) => archived ?? [])
    .sort((one, other) => one.began - other.began);
  const waits = answers.map(({ asked, archived }) => (archived ? archived.began - asked : 0));
  const answered423 = answers.filter(({ status }) => status === 423).length;
  return {
    ...{ site, asked: answers.length, archived: runs.length, pids: [...new Set(runs.map(({ pid }) => pid))] },
    ...{ longestWaitMs: Math.max(0, ...waits), answered423 },
    failed: answers.length - runs.length - answered423,
    overlaps: runs.filter((run, index) => overlaps(run, runs[index - 1])).length,
  };
}

function overlaps({ began }: Archived, before: Archived | undefined): boolean {
  return before !== undefined && began < before.ended;
}
