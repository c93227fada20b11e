import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Hit } from '../log/access-log.js';
import { count, type DayCounts } from './daily-report.js';

/** How far the archive of one site has come. */
export interface Checkpoint {
  /** So many of the site's lines are counted. */
  readonly linesArchived: number;
  readonly days: DayCounts;
  /** Whose lock wrote it, and in which process. */
  readonly fencingToken: number;
  readonly pid: number;
}

/**
 * The archive on disk, shared by all processes. Nothing here keeps two of them apart: both would add the same lines to
 * the same sums. That is what the lock is for.
 */
export class ArchiveFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  read(site: string): Checkpoint {
    const file = this.#file(site);
    if (!existsSync(file)) return { linesArchived: 0, days: {}, fencingToken: 0, pid: 0 };
    return JSON.parse(readFileSync(file, 'utf8')) as Checkpoint;
  }

  /** Adds lines to the sums of a site. @throws when a later holder of the lock has written already */
  add(site: string, hits: readonly Hit[], fencingToken: number): void {
    const { linesArchived, days } = this.#readAsHolder(site, fencingToken);
    for (const hit of hits) count(days, hit);
    this.#write(site, { linesArchived: linesArchived + hits.length, days, fencingToken, pid: process.pid });
  }

  /** Forgets what was archived of a site. @throws when a later holder of the lock has written already */
  clear(site: string, fencingToken: number): void {
    this.#readAsHolder(site, fencingToken);
    this.#write(site, { linesArchived: 0, days: {}, fencingToken, pid: process.pid });
  }

  /** Notes in a journal who did what to which site, in the order in which it happened. */
  note(site: string, fencingToken: number, event: 'begin' | 'add' | 'end'): void {
    appendFileSync(join(this.#folder, 'journal.log'), `${site}\t${fencingToken}\t${process.pid}\t${event}\n`);
  }

  /** A holder that was paused for longer than its lease does not know that it is none any more. Its number tells. */
  #readAsHolder(site: string, fencingToken: number): Checkpoint {
    const checkpoint = this.read(site);
    if (fencingToken < checkpoint.fencingToken) {
      throw new Error(
        `Expected the fencing token of '${site}' to be ${checkpoint.fencingToken} or more and got ${fencingToken}.`,
      );
    }
    return checkpoint;
  }

  /** In one step, so that `kill -9` leaves the old checkpoint or the new one. */
  #write(site: string, checkpoint: Checkpoint): void {
    const draft = `${this.#file(site)}.${process.pid}`;
    writeFileSync(draft, JSON.stringify(checkpoint));
    renameSync(draft, this.#file(site));
    this.note(site, checkpoint.fencingToken, 'add');
  }

  #file(site: string): string {
    return join(this.#folder, `${site}.json`);
  }
}
