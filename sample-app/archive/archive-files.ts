import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DayCounts } from './daily-report.js';

/** How far the archive of one site has come. */
export interface Checkpoint {
  /** So many of the site's lines are counted. */
  readonly linesArchived: number;
  readonly days: DayCounts;
  /** Whose lock wrote it, and in which process. */
  readonly fencingToken: number;
  readonly pid: number;
}

const NOTHING: Checkpoint = { linesArchived: 0, days: {}, fencingToken: 0, pid: 0 };

/**
 * The archive on disk, shared by all processes. Nothing here excludes anybody: two processes that archive one site at a
 * time would both count the same lines. That is what the lock is for.
 */
export class ArchiveFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  read(site: string): Checkpoint {
    const file = this.#file(site);
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Checkpoint) : NOTHING;
  }

  /**
   * Replaces a site's checkpoint in one step, so that `kill -9` leaves the old one or the new one.
   * @throws when a later holder of the lock has written already: this one was paused, and comes too late
   */
  write(site: string, checkpoint: Checkpoint): void {
    const { fencingToken } = this.read(site);
    if (checkpoint.fencingToken < fencingToken) {
      throw new Error(`Fencing token ${checkpoint.fencingToken} of '${site}' is older than ${fencingToken}.`);
    }
    const draft = `${this.#file(site)}.${process.pid}`;
    writeFileSync(draft, JSON.stringify(checkpoint));
    renameSync(draft, this.#file(site));
  }

  /** Notes who began and ended archiving a site, and when: for whoever wants to check that one did at a time. */
  note(site: string, fencingToken: number, event: 'begin' | 'end'): void {
    appendFileSync(join(this.#folder, 'journal.log'), `${site}\t${fencingToken}\t${process.pid}\t${event}\n`);
  }

  #file(site: string): string {
    return join(this.#folder, `${site}.json`);
  }
}
