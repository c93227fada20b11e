import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Archived, SiteReport } from '../../sample-app/archive/archive.service.js';
import type { SiteOutcome } from '../../sample-app/storm/storm.js';
import { freshDatabase, serversUnderTest } from '../support/servers.js';
import { until } from '../support/until.js';
import { linesOf, recount } from './recount.js';
import { runCommand, Sample, temporaryFolder, type Note } from './sample.js';

const LOG = readFileSync(new URL('../../sample-app/data/access.log', import.meta.url), 'utf8');
const SITES = ['garden', 'harbour', 'kitchen', 'museum'];
/** Far less than the lease of 30 s: whoever waits for that is far beyond it. */
const TAKEN_OVER_MS = 10_000;

async function freshUrl(serverUrl: string): Promise<string> {
  const database = await freshDatabase(serverUrl);
  onTestFinished(() => database.drop());
  return database.url;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Where somebody did something to a site after a later holder of its lock had begun: only overlapping can do that. */
function overlaps(notes: readonly Note[]): Note[] {
  const latest = new Map<string, Note>();
  return notes.filter((note) => {
    const before = latest.get(note.site);
    const isNext = !before || note.fencing > before.fencing;
    if (isNext) latest.set(note.site, note);
    return isNext ? note.event !== 'begin' : note.fencing < before.fencing || note.event === 'begin';
  });
}

/** The report says exactly what counting the lines of the log says. */
async function expectComplete(sample: Sample, site: string): Promise<void> {
  const { body } = await sample.request<SiteReport>(`/sites/${site}/report`);
  expect(body).toMatchObject({ site, consistent: true, linesArchived: linesOf(LOG, site) });
  expect(body.days).toEqual(recount(LOG, site));
}

function total(outcomes: readonly SiteOutcome[], figure: 'archived' | 'answered423' | 'failed' | 'overlaps') {
  return outcomes.reduce((sum, outcome) => sum + outcome[figure], 0);
}

async function begun(sample: Sample): Promise<Note> {
  await until(() => sample.journal().some(({ event }) => event === 'add'), 'an archive to begin');
  return sample.journal()[0]!;
}

// Each test starts four processes through tsx, which takes its time where there are few processors.
describe.each(serversUnderTest())('the report archiver on $flavor', { timeout: 180_000 }, ({ url }) => {
  it('archives one site at a time in three processes, while others wait or get 423', async () => {
    const sample = await Sample.start(await freshUrl(url));
    expect(new Set(sample.pids).size).toBe(3);
    const { body: outcomes } = await sample.request<SiteOutcome[]>('/storm?archives=48', 'POST');
    expect(outcomes.map(({ site }) => site)).toEqual(SITES);
    expect(overlaps(sample.journal())).toEqual([]);
    expect(sample.journal().filter(({ event }) => event === 'end').length).toBe(total(outcomes, 'archived'));
    expect(total(outcomes, 'archived')).toBeGreaterThanOrEqual(SITES.length + 1);
    expect(total(outcomes, 'answered423')).toBeGreaterThan(0);
    expect(total(outcomes, 'failed') + total(outcomes, 'overlaps')).toBe(0);
    for (const site of SITES) await expectComplete(sample, site);
    expect((await sample.request('/locks')).body).toEqual([]);
  });

  it('goes on in another process when the archiving one is killed with -9', async () => {
    const sample = await Sample.start(await freshUrl(url));
    const broken = expect(sample.request('/sites/kitchen/archive', 'POST')).rejects.toThrow();
    const { pid, fencing } = await begun(sample);
    const next = sample.request<Archived>('/sites/kitchen/archive', 'POST');
    const notes = sample.journal().length;
    await until(() => sample.journal().length > notes + 5, 'the archive to go on while the other one waits');
    expect(new Set(sample.journal().map((note) => note.fencing))).toEqual(new Set([fencing]));
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
    await broken;
    expect(overlaps(sample.journal())).toEqual([]);
    await expectComplete(sample, 'kitchen');
    await until(() => sample.pids.length === 4, 'a process to take the place of the killed one');
  });

  it('prints commands that show the same', async () => {
    const sample = await Sample.start(await freshUrl(url));
    expect(await sample.run('storm/main.ts')).toContain('at the same time: never');
    const printed = await sample.run('storm/kill.ts');
    expect(printed).toMatch(/Killed process (\d+) .*\nProcess (?!\1 )\d+ took over \d+ ms later/);
    expect(printed).toContain('exactly what counting them again gives');
    expect(overlaps(sample.journal())).toEqual([]);
    await expectComplete(sample, 'kitchen');
  });

  it('says what is wrong with a command, and does not wait for what cannot come', async () => {
    const { address } = await Sample.start(await freshUrl(url));
    const unknown = await runCommand('sample-app/storm/kill.ts', 'nowhere', address);
    expect(unknown).toEqual({
      code: 1,
      printed: `There is no site 'nowhere'; there are ${SITES.join(', ')}.\n`,
    });
    const many = await runCommand('sample-app/storm/main.ts', 'many', address);
    expect(many).toEqual({ code: 1, printed: "Expected a number of archives, 1 or more, and got 'many'.\n" });
  });

  it('answers 423 without naming the holder, and 404 for a site that is none', async () => {
    const sample = await Sample.start(await freshUrl(url), { CHUNK_PAUSE_MS: '300' });
    const first = sample.request('/sites/harbour/archive', 'POST');
    const { pid } = await begun(sample);
    const { body: locks } = await sample.request('/locks');
    expect(locks).toMatchObject([{ name: 'site:harbour', pid, alive: 'alive', label: 'archive' }]);
    const refused = await sample.request('/sites/harbour/archive', 'POST');
    expect(refused.status).toBe(423);
    expect(JSON.stringify(refused.body)).not.toMatch(new RegExp(`${pid}|${hostname()}`));
    expect((await sample.request('/sites/nowhere/archive', 'POST')).status).toBe(404);
    expect((await sample.request('/sites/nowhere/report')).status).toBe(404);
    expect((await first).status).toBe(200);
  });

  it.each([
    ['Ctrl-C', (sample: Sample) => sample.pressCtrlC()],
    ['SIGTERM', (sample: Sample) => sample.kill('SIGTERM')],
  ])('finishes its archive and ends all its processes at %s, and starts again', async (_, end) => {
    const database = await freshUrl(url);
    const sample = await Sample.start(database);
    const running = sample.request<Archived>('/sites/museum/archive', 'POST');
    await begun(sample);
    const { pids, address } = sample;
    expect(await end(sample)).toBe(0);
    expect((await running).status).toBe(200);
    expect(pids.filter(isAlive)).toEqual([]);
    await expect(fetch(address)).rejects.toThrow();
    const again = await Sample.start(database, {}, sample.folder);
    expect((await again.request('/locks')).body).toEqual([]);
    await expectComplete(again, 'museum');
  });

  it('ends when npm does, whose shell does not pass SIGTERM on', async () => {
    const start = ['npm', 'start'];
    const sample = await Sample.start(await freshUrl(url), {}, temporaryFolder(), start);
    const running = sample.request<Archived>('/sites/museum/archive', 'POST');
    await begun(sample);
    await sample.kill('SIGTERM');
    expect((await running).status).toBe(200);
    await until(() => sample.isGone, 'all its processes to end');
    await expect(fetch(sample.address)).rejects.toThrow();
  });

  it('leaves no process behind when the first one is killed with -9', async () => {
    const sample = await Sample.start(await freshUrl(url));
    const { pids } = sample;
    await sample.kill('SIGKILL');
    await until(() => !pids.some(isAlive), 'its processes to end');
  });
});
