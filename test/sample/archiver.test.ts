import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Archived, SiteReport } from '../../sample-app/archive/archive.service.js';
import { generateLog } from '../../sample-app/log/generate-log.js';
import type { SiteOutcome } from '../../sample-app/storm/storm.js';
import { freshDatabase, serversUnderTest } from '../support/servers.js';
import { until } from '../support/until.js';
import { Sample } from './sample.js';

const LOG = new URL('../../sample-app/data/access.log', import.meta.url);
const SITES = ['garden', 'harbour', 'kitchen', 'museum'];
/** Far less than the lease of 30 s: whoever waits for that is far beyond it. */
const TAKEN_OVER_MS = 10_000;

async function start(serverUrl: string, env?: Record<string, string>): Promise<Sample> {
  const database = await freshDatabase(serverUrl);
  onTestFinished(() => database.drop());
  return await Sample.start(database.url, env);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Where two archives of one site ran at a time, or not in the order of their fencing tokens. */
function overlaps(sample: Sample): unknown[] {
  const inside = new Map<string, number>();
  const last = new Map<string, number>();
  return sample.journal().filter(({ site, fencing, event }) => {
    if (event === 'end') return inside.get(site) !== fencing || !inside.delete(site);
    const isWrong = inside.has(site) || fencing <= (last.get(site) ?? 0);
    inside.set(site, fencing);
    last.set(site, fencing);
    return isWrong;
  });
}

it('ships the log that its script generates, byte for byte', () => {
  const log = readFileSync(LOG, 'utf8');
  expect(log.split('\n').length).toBeGreaterThan(20_000);
  expect(generateLog()).toBe(log);
});

describe.each(serversUnderTest())('the report archiver on $flavor', ({ url }) => {
  it('archives one site at a time in three processes, while others wait or get 423', async () => {
    const sample = await start(url);
    expect(new Set(sample.pids).size).toBe(3);
    const { body: outcomes } = await sample.request<SiteOutcome[]>('/storm?archives=48', 'POST');
    expect(outcomes.map(({ site }) => site)).toEqual(SITES);
    expect(overlaps(sample)).toEqual([]);
    expect(sample.journal().filter(({ event }) => event === 'end').length).toBe(total(outcomes, 'archived'));
    expect(total(outcomes, 'archived')).toBeGreaterThanOrEqual(2 * SITES.length);
    expect(total(outcomes, 'answered423')).toBeGreaterThan(0);
    expect(total(outcomes, 'failed')).toBe(0);
    for (const site of SITES) await expectComplete(sample, site);
    expect((await sample.request('/locks')).body).toEqual([]);
    expect(await sample.end('SIGTERM')).toBe(0);
  });

  it('goes on in another process when the archiving one is killed with -9', async () => {
    const sample = await start(url);
    const broken = sample.request('/sites/kitchen/archive', 'POST').then(
      () => false,
      () => true,
    );
    await until(() => sample.journal().length > 0, 'the archive to begin');
    const next = sample.request<Archived>('/sites/kitchen/archive', 'POST');
    const { pid, fencing } = sample.journal()[0]!;
    await until(
      async () => (await sample.request<SiteReport>('/sites/kitchen/report')).body.linesArchived > 0,
    );
    process.kill(pid, 'SIGKILL');
    const killedAt = performance.now();
    await until(
      () => sample.journal().some((note) => note.fencing > fencing),
      'another process to take over',
    );
    expect(performance.now() - killedAt).toBeLessThan(TAKEN_OVER_MS);
    const { body } = await next;
    expect(body.resumedAt).toBeGreaterThan(0);
    expect(body.pid).not.toBe(pid);
    expect(await broken).toBe(true);
    await expectComplete(sample, 'kitchen');
    await until(() => sample.pids.length === 4, 'a process to take the place of the killed one');
  });

  it('answers 423 without naming the holder, and 404 for a site that is none', async () => {
    const sample = await start(url, { CHUNK_PAUSE_MS: '200' });
    const first = sample.request('/sites/harbour/archive', 'POST');
    await until(() => sample.journal().length > 0, 'the archive to begin');
    const locks = await sample.request<{ name: string; holder: string }[]>('/locks');
    expect(locks.body).toMatchObject([{ name: 'site:harbour', alive: 'alive', label: 'archive' }]);
    const refused = await sample.request('/sites/harbour/archive', 'POST');
    expect(refused.status).toBe(423);
    const { pid } = sample.journal()[0]!;
    expect(JSON.stringify(refused.body)).not.toMatch(new RegExp(`${pid}|${hostname()}`));
    expect((await sample.request('/sites/nowhere/archive', 'POST')).status).toBe(404);
    expect((await first).status).toBe(200);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'ends with all its processes at %s, in the middle of an archive',
    async (signal) => {
      const sample = await start(url);
      const running = sample.request<Archived>('/sites/museum/archive', 'POST');
      await until(() => sample.journal().length > 0, 'the archive to begin');
      const { pids, address } = sample;
      expect(await sample.end(signal)).toBe(0);
      expect((await running).status).toBe(200);
      expect(pids.filter(isAlive)).toEqual([]);
      await expect(fetch(address)).rejects.toThrow();
    },
  );
});

/** The report says what counting all lines again says. */
async function expectComplete(sample: Sample, site: string): Promise<void> {
  const { body } = await sample.request<SiteReport>(`/sites/${site}/report`);
  expect(body).toMatchObject({ site, consistent: true, linesArchived: body.linesTotal });
}

function total(outcomes: readonly SiteOutcome[], figure: 'archived' | 'answered423' | 'failed'): number {
  return outcomes.reduce((sum, outcome) => sum + outcome[figure], 0);
}
