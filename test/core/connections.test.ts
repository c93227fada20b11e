import mysql from 'mysql2/promise';
import { expect, it, onTestFinished } from 'vitest';
import { LockLostError, LockStorageError } from 'nestjs-interlock';
import { bench, freshName } from '../support/locks.js';
import { describeEachCell } from '../support/matrix.js';
import { Oracle } from '../support/oracle.js';
import { until } from '../support/until.js';

const SERVICES = 3;
const WORKERS = 10;
const KILLS = 40;

describeEachCell('connections that the server kills all the time', (cell) => {
  const suite = bench(cell);

  /** Kills one working connection of the suite's database after the other, at random. */
  async function killUntilOver(state: { kills: number; isOver: boolean }): Promise<void> {
    const database = new URL(suite.url).pathname.slice(1);
    const root = await mysql.createConnection(cell.url);
    onTestFinished(() => root.end());
    await until(async () => {
      const [rows] = await root.query<mysql.RowDataPacket[]>(
        `SELECT id FROM information_schema.PROCESSLIST
          WHERE db = ? AND id <> CONNECTION_ID() AND command <> 'Sleep' ORDER BY RAND() LIMIT 1`,
        [database],
      );
      for (const { id } of rows) {
        state.kills += await root.query('KILL ?', [id]).then(
          () => 1,
          () => 0,
        );
      }
      return state.isOver;
    }, 'the sections to end');
  }

  it.each([1, 4])('cost nobody the lock, and leave nothing behind (pool of %i)', async (max) => {
    const oracle = new Oracle();
    onTestFinished(() => oracle.remove());
    const connection = { client: 'mysql2', connection: suite.url, pool: { max } };
    const table = suite.table();
    const services = Array.from({ length: SERVICES }, () =>
      suite.service({ connection, table, lease: '2s' }),
    );
    await Promise.all(services.map((it) => it.open()));
    const names = Array.from({ length: 5 }, freshName);
    const state = { kills: 0, isOver: false };
    const work = async (service: (typeof services)[number], index: number) => {
      for (let round = 0; state.kills < KILLS; round++) {
        const name = names[(index + round) % names.length]!;
        try {
          await service.locks.run(name, { wait: '30s' }, (lock) => oracle.section(lock));
        } catch (error) {
          if (!(error instanceof LockStorageError || error instanceof LockLostError)) throw error;
        }
      }
    };
    const killing = killUntilOver(state);
    await Promise.all(
      services.flatMap((service) => Array.from({ length: WORKERS }, (_, index) => work(service, index))),
    ).finally(() => (state.isOver = true));
    await killing;
    expect(oracle.faults()).toEqual([]);
    for (const name of names) expect(oracle.count(name)).toBe(oracle.entered(name));
    // What a killed connection left behind is undone, by a ghost hunt or by the sweep that knows its own rows.
    await until(async () => {
      for (const { reaper } of services) await reaper.sweep();
      return (await services[0]!.table.list()).length === 0;
    }, 'every row to be free');
  });
});
