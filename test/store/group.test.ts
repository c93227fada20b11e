import { describe, expect, it, onTestFinished } from 'vitest';
import mysql from 'mysql2/promise';
import { startServer } from '../../private-server/index.js';
import { composeLocks } from '../../lib/nest/compose.js';
import { freshName } from '../support/locks.js';
import { freshDatabase, serversUnderTest } from '../support/servers.js';
import { until } from '../support/until.js';

const GROUP = [
  ...[
    '--server-id=11',
    '--log-bin',
    '--gtid-mode=ON',
    '--enforce-gtid-consistency=ON',
    '--report-host=127.0.0.1',
  ],
  ...[
    '--plugin-load-add=group_replication.so',
    '--group-replication-bootstrap-group=ON',
    '--group-replication-start-on-boot=OFF',
  ],
  '--group-replication-group-name=0f2c8d8e-5a6f-4c6e-9d50-6b6a5a0f7c11',
];

/** A group of one member; only MySQL has the plugin. */
async function startGroup() {
  const port = 30_000 + Math.floor(Math.random() * 2_000);
  const address = `127.0.0.1:${port}`;
  const options = [
    ...GROUP,
    `--group-replication-local-address=${address}`,
    `--group-replication-group-seeds=${address}`,
  ];
  const server = await startServer({ flavor: 'mysql', options });
  onTestFinished(() => server.stop());
  const root = await mysql.createConnection(server.url());
  onTestFinished(() => root.end());
  await root.query('START GROUP_REPLICATION');
  await until(async () => {
    const [[row]] = await root.query<mysql.RowDataPacket[]>('SELECT @@super_read_only AS ro');
    return row!.ro === 0;
  }, 'the member to be the primary');
  return { root, url: await server.createDatabase() };
}

/** What a service logs. */
function listener() {
  const logged: string[] = [];
  const note = (line: string) => void logged.push(line);
  return { logged, logger: { log: note, warn: note, error: note } };
}

it.each(serversUnderTest())(
  'a $flavor server in no group keeps locks in MEMORY when it may choose',
  async ({ url }) => {
    const database = await freshDatabase(url);
    const { logged, logger } = listener();
    const runtime = composeLocks({ connection: database.url, reaper: false }, logger);
    onTestFinished(() => database.drop());
    onTestFinished(() => runtime.close());
    await runtime.open();
    expect(logged).toEqual([expect.stringMatching(/engine MEMORY/)]);
  },
);

describe.each(serversUnderTest().filter(({ flavor }) => flavor === 'mysql'))(
  'a group of $flavor servers',
  () => {
    it('keeps locks in InnoDB, and grants none on a member that has left the group', async () => {
      const { root, url } = await startGroup();
      const { logged, logger } = listener();
      const runtime = composeLocks({ connection: url, reaper: false, lease: '1s' }, logger);
      onTestFinished(() => runtime.close());
      await runtime.locks.run(freshName(), (lock) => lock.assertHeld());
      expect(logged).toContainEqual(expect.stringMatching(/engine InnoDB/));
      await root.query('STOP GROUP_REPLICATION');
      // Even where somebody made it writable again: its grants would be unknown to the others.
      await root.query('SET GLOBAL super_read_only = 0, GLOBAL read_only = 0');
      await expect(runtime.locks.tryAcquire(freshName())).rejects.toMatchObject({
        code: 'LOCK_STORAGE',
        trouble: 'read-only',
      });
    });
  },
);
