import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { parseProcStat } from '../../lib/process/proc-stat.js';
import { stat } from './support/fake-system.js';

test('the id, the state, the number of threads and the start are read', () => {
  expect(parseProcStat(stat({ id: 7, state: 'R', threads: 3, start: 820100 }))).toEqual({
    id: 7,
    state: 'R',
    threads: 3,
    start: '820100',
  });
});

test.each([') Z 1 (', ') Z 1 2 3', 'a b', ')', '(', '', ') X\n) Z', '\u{FFFD})'])(
  'a process named %j is read like any other',
  (name) => {
    const text = stat({ name, state: 'S', start: 55 });
    expect(parseProcStat(text)).toMatchObject({ id: 42, state: 'S', start: '55' });
  },
);

test('this very process is read right, whatever it calls itself', () => {
  const { title } = process;
  onTestFinished(() => void (process.title = title));
  process.title = 'plain';
  const start = readFileSync('/proc/self/stat', 'utf8').split(' ')[21];
  process.title = 'x) Z 1 (y';
  const text = readFileSync('/proc/self/stat', 'utf8');

  expect(text).toContain(') Z 1 (');
  expect(parseProcStat(text)).toMatchObject({ id: process.pid, start });
  expect(parseProcStat(text)?.state).toMatch(/^[RS]$/);
});

test.each([
  '',
  'nonsense',
  '42 (node',
  '42 (node) S 1 2 3\n',
  stat().replace(' 1000 ', ' soon '),
  `x${stat()}`,
])('what is no stat file is no evidence: %j', (text) => {
  expect(parseProcStat(text)).toBeNull();
});
