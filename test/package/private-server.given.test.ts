import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { anyServer } from '../../private-server/index.js';
import { setup } from '../support/servers.global.js';
import { freshDatabase, serversUnderTest } from '../support/servers.js';

type Project = Parameters<typeof setup>[0];

/** Only what is named here is in the environment. */
function environment(variables: Record<string, string>): void {
  for (const name of ['DATABASE_URL', 'INTERLOCK_MYSQL_URL', 'INTERLOCK_MARIADB_URL', 'INTERLOCK_SERVERS'])
    vi.stubEnv(name, variables[name]);
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** What the global set-up of a test run would provide, and the lines it prints. */
async function setUp(): Promise<{ servers: unknown; lines: string }> {
  const provide = vi.fn<(key: string, servers: unknown) => void>();
  const log = vi.spyOn(console, 'log').mockReturnValue();
  onTestFinished(() => log.mockRestore());
  await setup({ provide } as unknown as Project);
  return { servers: provide.mock.calls[0]?.[1], lines: log.mock.calls.join('\n') };
}

describe.each(serversUnderTest())('a given $flavor server', ({ flavor, url }) => {
  const other = flavor === 'mysql' ? 'mariadb' : 'mysql';

  it('is the only one of a test run, which says so', async () => {
    environment({ DATABASE_URL: url });
    const { servers, lines } = await setUp();
    expect(servers).toMatchObject([{ flavor, url }]);
    expect(lines).toMatch(/DATABASE_URL .* alone\.\n.*run against: /);
  });

  it('is the one of its flavour when the run is narrowed to that', async () => {
    environment({ [`INTERLOCK_${flavor.toUpperCase()}_URL`]: url, INTERLOCK_SERVERS: flavor });
    const { servers, lines } = await setUp();
    expect(servers).toMatchObject([{ flavor, url }]);
    expect(lines).toContain(`INTERLOCK_SERVERS narrows the database suites to ${flavor}.`);
  });

  it('fails a run that is narrowed to the other flavour', async () => {
    environment({ DATABASE_URL: url, INTERLOCK_SERVERS: other });
    await expect(setUp()).rejects.toThrow(`Expected a ${other} server at DATABASE_URL`);
  });

  it('gets the database that its URL names, and keeps one that is there', async () => {
    const database = await freshDatabase(url);
    await database.drop();
    environment({ DATABASE_URL: database.url });
    for (const _ of ['made', 'found']) {
      const given = await anyServer();
      expect(given.url).toBe(database.url);
      await given.stop();
    }
    await expect(database.drop()).resolves.toBeUndefined();
  });
});

it('a given server that does not answer fails the run, which says so in one line', async () => {
  environment({ DATABASE_URL: 'mysql://root@127.0.0.1:1' });
  await expect(setUp()).rejects.toThrow('The given database server, 127.0.0.1:1, does not answer.');
});
