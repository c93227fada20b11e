import type { Archived } from '../archive/archive.service.js';

/** What became of many archives of one site that were asked for at once. */
export interface SiteOutcome {
  readonly site: string;
  readonly asked: number;
  /** Ran, one after the other, in these processes. */
  readonly archived: number;
  readonly pids: readonly number[];
  /** Were still waiting when their patience ended. */
  readonly answered423: number;
  /** Broke off, because their process was killed or the lock was lost. */
  readonly failed: number;
}

type Answer = { readonly site: string; readonly archived?: Archived; readonly status: number };

/** Asks for so many archives at once, all sites in turn, over as many connections. */
export async function storm(
  address: string,
  sites: readonly string[],
  archives: number,
): Promise<SiteOutcome[]> {
  const asked = Array.from({ length: archives }, (_, index) => sites[index % sites.length]!);
  const answers = await Promise.all(asked.map((site) => archiveOnce(address, site)));
  return sites.map((site) =>
    outcomeOf(
      site,
      answers.filter((answer) => answer.site === site),
    ),
  );
}

async function archiveOnce(address: string, site: string): Promise<Answer> {
  try {
    // A connection of its own: the processes share the port by connection.
    const headers = { connection: 'close' };
    const response = await fetch(`${address}/sites/${site}/archive?fresh`, { method: 'POST', headers });
    const { status } = response;
    return status === 200
      ? { site, status, archived: (await response.json()) as Archived }
      : { site, status };
  } catch (error) {
    // The process that had this request was killed.
    if (error instanceof TypeError) return { site, status: 0 };
    throw error;
  }
}

function outcomeOf(site: string, answers: readonly Answer[]): SiteOutcome {
  const archived = answers.flatMap((answer) => answer.archived ?? []);
  const answered423 = answers.filter(({ status }) => status === 423).length;
  const pids = [...new Set(archived.map(({ pid }) => pid))];
  const failed = answers.length - archived.length - answered423;
  return { site, asked: answers.length, archived: archived.length, pids, answered423, failed };
}
