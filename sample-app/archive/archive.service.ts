import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, NotFoundException } from '@nestjs/common';
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
  readonly tookMs: number;
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
    const hits = this.#hitsOf(site);
    const startedAt = performance.now();
    const { fencingToken } = lock;
    const pid = process.pid;
    this.#files.note(site, fencingToken, 'begin');
    const checkpoint = this.#files.read(site);
    const resumedAt = fresh && checkpoint.linesArchived === hits.length ? 0 : checkpoint.linesArchived;
    const days = resumedAt === 0 ? {} : checkpoint.days;
    for (let line = resumedAt; line < hits.length; line += CHUNK_LINES) {
      lock.assertHeld();
      const chunk = hits.slice(line, line + CHUNK_LINES);
      for (const hit of chunk) count(days, hit);
      this.#files.write(site, { linesArchived: line + chunk.length, days, fencingToken, pid });
      await sleep(this.#settings.chunkPauseMs);
    }
    this.#files.note(site, fencingToken, 'end');
    const tookMs = Math.round(performance.now() - startedAt);
    return { site, linesArchived: hits.length - resumedAt, resumedAt, pid, fencingToken, tookMs };
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

  #hitsOf(site: string): readonly Hit[] {
    const hits = this.#log.get(site);
    if (!hits) throw new NotFoundException(`There is no site '${site}'; there are ${this.sites.join(', ')}.`);
    return hits;
  }
}

function countAll(hits: readonly Hit[]): DayCounts {
  const days: DayCounts = {};
  for (const hit of hits) count(days, hit);
  return days;
}
