import { expect, test, vi } from 'vitest';
import { probe } from '../../lib/process/liveness.js';
import { ownIdentity } from '../../lib/process/own-identity.js';
import type { OwnerIdentity } from '../../lib/shared/owner.js';
import { errno, fakeHost, LINUX, stat, type Answers } from './support/fake-system.js';

const OTHER: Partial<OwnerIdentity> = { pid: 50, thread: 50, started: '2000' };

/** Judges process 50, started at tick 2000, where these answers are given. */
function judge(answers: Answers, owner: Partial<OwnerIdentity> = {}) {
  const fake = fakeHost({ ...LINUX, ...answers });
  return probe(fake.owner({ ...OTHER, ...owner }), fake.host);
}

const EXISTS = { 'kill 50': '' };
const MINE = { id: 50, start: 2000 };

test('who exists and started when the row says is alive', () => {
  expect(judge({ ...EXISTS, '/proc/50/stat': stat(MINE) })).toBe('alive');
});

test('who does not exist is dead', () => {
  expect(judge({})).toBe('dead');
});

test('who has another start, or ended without being reaped, is dead', () => {
  expect(judge({ ...EXISTS, '/proc/50/stat': stat({ id: 50, start: 2001 }) })).toBe('dead');
  expect(judge({ ...EXISTS, '/proc/50/stat': stat({ ...MINE, state: 'Z', threads: 1 }) })).toBe('dead');
  expect(judge({ ...EXISTS, '/proc/50/stat': stat({ ...MINE, state: 'X', threads: 0 }) })).toBe('dead');
});

test('a main thread that ended before the others leaves its process alive', () => {
  expect(judge({ ...EXISTS, '/proc/50/stat': stat({ ...MINE, state: 'Z', threads: 2 }) })).toBe('alive');
});

test('a worker thread that ended is dead, however many others its process has', () => {
  const zombie = stat({ id: 51, start: 2000, state: 'Z', threads: 9 });
  expect(judge({ 'kill 51': '', '/proc/51/stat': zombie }, { thread: 51 })).toBe('dead');
});

test.each(['R', 'S', 'D', 'T', 't', 'I', 'P'])('state %s is a living one', (state) => {
  expect(judge({ ...EXISTS, '/proc/50/stat': stat({ ...MINE, state, threads: 1 }) })).toBe('alive');
});

test('a worker thread that does not exist is dead, although its process exists', () => {
  expect(judge({ ...EXISTS, '/proc/50/stat': stat(MINE) }, { thread: 51 })).toBe('dead');
});

test('a /proc of an outer namespace shows other processes, and is not asked', () => {
  const outer = { ...EXISTS, '/proc/self/status': 'NSpid:\t7276\t42\n' };
  expect(judge({ ...outer, '/proc/50/stat': stat({ id: 50, start: 7, state: 'Z', threads: 1 }) })).toBe(
    'alive',
  );
  expect(judge({ '/proc/self/status': 'NSpid:\t7276\t42\n', '/proc/50/stat': stat(MINE) })).toBe('dead');
});

test('in another time namespace starts are not compared, but zombies are seen', () => {
  const shifted = { ...EXISTS, '/proc/self/ns/time': 'time:[4026532177]' };
  expect(judge({ ...shifted, '/proc/50/stat': stat({ id: 50, start: 9_000 }) })).toBe('alive');
  expect(judge({ ...shifted, '/proc/50/stat': stat({ id: 50, state: 'Z', threads: 1 }) })).toBe('dead');
});

test("the id of an ended worker thread that became another process's thread is not its owner", () => {
  const answers = { 'kill 51': '', '/proc/51/stat': stat({ id: 51, start: 2500 }) };
  expect(judge(answers, { thread: 51 })).toBe('dead');
});

test('not to see a task in /proc proves nothing: hidepid hides the living', () => {
  for (const code of ['ENOENT', 'EPERM', 'EACCES', 'ESRCH', 'EMFILE']) {
    expect(judge({ ...EXISTS, '/proc/50/stat': errno(code) })).toBe('alive');
    expect(judge({ 'kill 50': errno('EPERM'), '/proc/50/stat': errno(code) })).toBe('alive');
  }
  expect(judge({ ...EXISTS, '/proc/50/stat': '' })).toBe('alive');
});

test("another user's process is alive, unless /proc shows that it is not the owner", () => {
  const forbidden = { 'kill 50': errno('EPERM') };
  expect(judge({ ...forbidden, '/proc/50/stat': stat(MINE) })).toBe('alive');
  expect(judge({ ...forbidden, '/proc/50/stat': stat({ id: 50, start: 2001 }) })).toBe('dead');
});

test('an answer of kill(2) that nobody expects leaves it open', () => {
  for (const error of [errno('ENOSYS'), errno('EACCES'), errno('EINVAL'), new Error('no code')]) {
    expect(judge({ 'kill 50': error })).toBe('unknown');
  }
});

test('a start that is no start is not compared', () => {
  for (const started of ['', 'null', 'undefined', 'NaN', '-1', '2e3', '1999 ', '\0', '9'.repeat(32)]) {
    expect(judge({ ...EXISTS, '/proc/50/stat': stat(MINE) }, { started })).toBe('alive');
  }
});

test('an owner of another host is never judged, whatever its ids mean here', () => {
  const hostKey = Buffer.alloc(16);
  expect(judge({}, { hostKey })).toBe('unknown');
  expect(judge({}, { hostKey: Buffer.alloc(0) })).toBe('unknown');
  expect(judge({ ...EXISTS, '/proc/50/stat': stat({ id: 50, start: 1 }) }, { hostKey })).toBe('unknown');
});

const ODD = [0, -0, -1, -50, Number.NaN, Infinity, -Infinity, 1.5, 2 ** 31, 2 ** 32 + 50, 2 ** 53];

test.each(ODD)('the id %d is never signalled, and its owner is held', (id) => {
  const signal = vi.fn();
  const fake = fakeHost(LINUX, { signal });
  for (const ids of [{ pid: id }, { thread: id }, { pid: id, thread: id }]) {
    expect(probe(fake.owner({ ...OTHER, ...ids }), fake.host)).toBe('unknown');
  }
  expect(signal).not.toHaveBeenCalled();
});

test.each(ODD)('the id %d in a row is held by the real system, too', (id) => {
  const me = ownIdentity();
  expect(probe({ ...me, pid: id, thread: id })).toBe('unknown');
  expect(probe({ ...me, thread: id })).toBe('unknown');
});

test('a value that is no number is held', () => {
  const odd = { pid: null, thread: '50' } as unknown as Partial<OwnerIdentity>;
  expect(judge({}, odd)).toBe('unknown');
});

test('the largest id is an id like any other', () => {
  expect(judge({}, { pid: 2 ** 31 - 1, thread: 2 ** 31 - 1 })).toBe('dead');
});
