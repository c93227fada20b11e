import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Oracle } from '../support/oracle.js';

function fresh(): Oracle {
  const oracle = new Oracle();
  onTestFinished(() => oracle.remove());
  return oracle;
}

it('has no fault to find in sections that follow each other', async () => {
  const oracle = fresh();
  for (const fencingToken of [1, 2, 5]) await oracle.section({ name: 'k', fencingToken });
  expect(oracle.faults()).toEqual([]);
  expect(oracle.count('k')).toBe(3);
});

it('finds sections that overlap, and the update they lose', async () => {
  const oracle = fresh();
  await Promise.all([1, 2].map((fencingToken) => oracle.section({ name: 'k', fencingToken })));
  expect(oracle.faults()).not.toEqual([]);
  expect(oracle.count('k')).toBe(1);
});

it('finds fencing numbers that do not grow', async () => {
  const oracle = fresh();
  for (const fencingToken of [2, 2]) await oracle.section({ name: 'k', fencingToken });
  expect(oracle.faults()).toHaveLength(1);
});

it('bears with a section that was killed inside: the next entry tells', async () => {
  const oracle = fresh();
  appendFileSync(join(oracle.folder, 'log'), 'k\t1\t42\tenter\n');
  await oracle.section({ name: 'k', fencingToken: 2 });
  expect(oracle.faults()).toHaveLength(1);
});
