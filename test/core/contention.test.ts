import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { bench, freshName } from '../support/locks.js';
import { LockProcess } from '../support/lock-process.js';
import { describeEachCell } from '../support/matrix.js';
import { Oracle } from '../support/oracle.js';

const PROCESSES = 8;
const ROUNDS = 25;

let processes: LockProcess[];
beforeAll(async () => {
  processes = await Promise.all(Array.from({ length: PROCESSES }, () => LockProcess.startShared()));
});
afterAll(async () => {
  await Promise.all(processes.map((it) => it.kill()));
});

describeEachCell('eight processes on three names', (cell) => {
  const { options, table, sql } = bench(cell);

  it.each(['global', 'local'] as const)('never overlap (%s)', async (scope) => {
    const oracle = new Oracle();
    onTestFinished(() => oracle.remove());
    const shared = options({ table: table() });
    const names = [freshName(), freshName(), freshName()];
    const contention = {
      folder: oracle.folder,
      names,
      rounds: ROUNDS,
      options: { scope, wait: '60s' },
    } as const;
    await Promise.all(
      processes.map(async (it) => {
        await it.open(shared);
        await it.contend(contention);
      }),
    );
    expect(oracle.faults()).toEqual([]);
    expect(names.map((name) => oracle.count(name))).toEqual(names.map(() => PROCESSES * ROUNDS));
    const held = await sql(`SELECT lock_key FROM \`${shared.table}\` WHERE expires_at <> 0`);
    expect(held).toEqual([]);
  });
});
