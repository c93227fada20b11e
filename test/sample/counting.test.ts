import { readFileSync } from 'node:fs';
import type { HeldLock } from 'nestjs-interlock';
import { beforeEach, expect, it, vi } from 'vitest';
import { ArchiveFiles } from '../../sample-app/archive/archive-files.js';
import { ArchiveService } from '../../sample-app/archive/archive.service.js';
import { readLog } from '../../sample-app/log/access-log.js';
import { generateLog } from '../../sample-app/log/generate-log.js';
import { linesOf, recount } from './recount.js';
import { temporaryFolder } from './sample.js';

const log = readFileSync(new URL('../../sample-app/data/access.log', import.meta.url), 'utf8');

/** Stands for a lock that does not keep anybody out. */
function noLock(fencingToken: number): HeldLock {
  return { fencingToken, assertHeld: () => undefined } as unknown as HeldLock;
}

beforeEach(() => {
  vi.spyOn(console, 'log').mockReturnValue();
  vi.stubEnv('CHUNK_PAUSE_MS', '1');
  vi.stubEnv('ARCHIVE_FOLDER', temporaryFolder());
  return () => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  };
});

it('ships the log that its script generates, byte for byte', () => {
  expect(log.split('\n').length).toBeGreaterThan(20_000);
  expect(generateLog()).toBe(log);
});

it('counts what is in the log when archives of a site run one after the other', async () => {
  const [one, other] = [new ArchiveService(), new ArchiveService()];
  await one.archive('garden', false, noLock(1));
  await other.archive('garden', true, noLock(2));
  const report = one.report('garden');
  expect(report.days).toEqual(recount(log, 'garden'));
  expect(report).toMatchObject({ consistent: true, linesArchived: linesOf(log, 'garden') });
});

it('counts lines twice, and notices, when nothing keeps two archives of a site apart', async () => {
  const [one, other] = [new ArchiveService(), new ArchiveService()];
  await Promise.all([one.archive('garden', false, noLock(1)), other.archive('garden', false, noLock(1))]);
  const report = one.report('garden');
  expect(report.linesArchived).toBeGreaterThan(report.linesTotal);
  expect(report.consistent).toBe(false);
});

it('refuses lines from a holder that was paused while a later one has written', () => {
  const files = new ArchiveFiles(temporaryFolder());
  const hits = readLog().get('garden')!.slice(0, 20);
  files.add('garden', hits, 8);
  const written = files.read('garden');
  expect(() => files.add('garden', hits, 7)).toThrow(/fencing token/);
  expect(() => files.clear('garden', 7)).toThrow(/fencing token/);
  expect(files.read('garden')).toEqual(written);
});
