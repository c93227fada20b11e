import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { HeldLock } from 'nestjs-interlock';
import { readLog, type Hit } from '../log/access-log.js';
import { settings } from '../settings.js';
import { ArchiveFiles } from './archive-files.js';
import { count, reportsOf, type DailyReport, type DayCounts } from './daily-report.js';

const CHUNK_LINES = 250;

/** What one run of the archiver did. */
export interface Archived {
  readonly site: string;
  readonly linesArchived: number;
  /** Where it went on from: more than 0 when another process was killed in the middle. */
  readonly resumedAt: number;
  readonly pid: number;
  readonly fencingToken: number;
  /** Milliseconds since the epoch. */
  readonly began: number;
  readonly ended: number;
}

/** The archive of one site as it stands. */
export interface SiteReport {
  readonly site: string;
  readonly linesArchived: number;
  readonly linesTotal: number;
  /** Whether the report says what counting those lines again from the start says. */
  readonly consistent: boolean;
  readonly archivedBy: { readonly pid: number; readonly fencingToken: number };
  readonly days: readonly DailyReport[];
}

/** Counts the lines of a site into daily reports, chunk by chunk. */
@Injectable()
export class ArchiveService {
  readonly #log = readLog();
  readonly #settings = settings();
  readonly #files = new ArchiveFiles(this.#settings.dataFolder);

  get sites(): string[] {
    return [...this.#log.keys()].sort();
  }

  /**
   * Archives what is not archived yet; all of it again when `fresh`. To be called by the holder of the site's lock.
   * @throws the lock's own error when it is lost on the way
   */
  async archive(site: string, fresh: boolean, lock: HeldLock): Promise<Archived> {
    const { fencingToken } = lock;
    const began = Date.now();
    const resumedAt = this.#begin(site, fresh, fencingToken);
    const hits = this.#hitsOf(site);
    for (let line = resumedAt; line < hits.length; line += CHUNK_LINES) {
      // Between two chunks is a good place to stop once the lock is lost.
      lock.assertHeld();
      this.#files.add(site, hits.slice(line, line + CHUNK_LINES), fencingToken);
      await sleep(this.#settings.chunkPauseMs);
    }
    this.#files.note(site, fencingToken, 'end');
    const linesArchived = hits.length - resumedAt;
    const ended = Date.now();
    say(`archived ${linesArchived} lines of ${site} in ${ended - began} ms`);
    return { site, linesArchived, resumedAt, pid: process.pid, fencingToken, began, ended };
  }

  report(site: string): SiteReport {
    const hits = this.#hitsOf(site);
    const { linesArchived, days, pid, fencingToken } = this.#files.read(site);
    const reports = reportsOf(days);
    const recount = reportsOf(countAll(hits.slice(0, linesArchived)));
    return {
      ...{ site, linesArchived, linesTotal: hits.length },
      consistent: JSON.stringify(reports) === JSON.stringify(recount),
      archivedBy: { pid, fencingToken },
      days: reports,
    };
  }

  /** @returns the line to go on from */
  #begin(site: string, fresh: boolean, fencingToken: number): number {
    this.#files.note(site, fencingToken, 'begin');
    const { length } = this.#hitsOf(site);
    if (fresh && this.#files.read(site).linesArchived >= length) this.#files.clear(site, fencingToken);
    const { linesArchived } = this.#files.read(site);
    say(`archives ${site} from line ${linesArchived} of ${length}, fencing token ${fencingToken}`);
    return linesArchived;
  }

  #hitsOf(site: string): readonly Hit[] {
    return this.#log.get(site) ?? [];
  }
}

function countAll(hits: readonly Hit[]): DayCounts {
  const days: DayCounts = {};
  for (const hit of hits) count(days, hit);
  return days;
}

function say(what: string): void {
  console.log(`[${process.pid}] ${what}`);
}
