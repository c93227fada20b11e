import { expect, onTestFinished, test } from 'vitest';
import { ownIdentity } from '../../lib/process/own-identity.js';
import { hostOf } from '../../lib/process/this-host.js';
import { linesOf, script, statField } from './support/children.js';
import { errno, fakeHost, fakeSystem, LINUX, stat, type Answers } from './support/fake-system.js';
import { fromJson } from './support/identity-json.js';
import { startOwnerThread } from './support/start-owner-thread.js';

/** Who process 42 is where these answers are given. */
function identity(answers: Answers = {}) {
  return fakeHost({ ...LINUX, ...answers }).owner();
}

/** Whether processes that get these two kinds of answers can judge each other. */
function shareHost(one: Answers, other: Answers = {}) {
  return identity(one).hostKey.equals(identity(other).hostKey);
}

test('a process names its own boot, namespace, thread and start', () => {
  const me = ownIdentity();
  expect(me).toMatchObject({ pid: process.pid, thread: process.pid, started: statField('self', 22) });
  expect(me.hostKey).toHaveLength(16);
  expect(ownIdentity()).toEqual(me);
});

test('a worker thread is an owner of its own', async () => {
  const { worker, owner } = await startOwnerThread();
  onTestFinished(async () => void (await worker.terminate()));
  const me = ownIdentity();

  expect(owner.hostKey).toEqual(me.hostKey);
  expect(owner.pid).toBe(me.pid);
  expect(owner.thread).not.toBe(me.thread);
  expect(owner.started).toBe(statField(`self/task/${owner.thread}`, 22));
});

test('a child is another owner than its parent', async () => {
  const child = fromJson((await linesOf(script('judge-process.ts')))[0]!);
  const me = ownIdentity();

  expect(child.hostKey).toEqual(me.hostKey);
  expect(child.pid).not.toBe(me.pid);
  expect(child.thread).toBe(child.pid);
  expect(Number(child.started)).toBeGreaterThan(Number(me.started));
});

test('the host is judged by boot and namespace, not by its name', () => {
  expect(shareHost({})).toBe(true);
  expect(fakeHost(LINUX, { hostname: () => 'renamed' }).owner().hostKey).toEqual(identity().hostKey);
  expect(shareHost({ '/proc/self/ns/pid': 'pid:[4026532177]' })).toBe(false);
  expect(shareHost({ '/proc/sys/kernel/random/boot_id': '00000000-b306-4b0b-a9de-a50d57836525\n' })).toBe(
    false,
  );
});

test('a /proc of an outer namespace is not believed, but the host key is right', () => {
  for (const status of ['NSpid:\t7276\t42\n', 'NSpid:\t42\t42\n', 'NSpid:\t7276\n', 'Pid:\t42\n', '']) {
    const outer = { '/proc/self/status': status, '/proc/thread-self/stat': stat({ id: 7276 }) };
    expect(shareHost(outer)).toBe(true);
    expect(identity(outer)).toMatchObject({ pid: 42, thread: 42, started: '' });
  }
});

test('a start that a time namespace shifts is not recorded', () => {
  const shifted = { '/proc/self/ns/time': 'time:[4026532177]' };
  expect(identity(shifted)).toMatchObject({ thread: 42, started: '' });
  expect(shareHost(shifted)).toBe(true);
  expect(identity({ '/proc/self/ns/time': errno('EACCES') }).started).toBe('');
  expect(identity({ '/proc/self/ns/time': errno('ENOENT') }).started).toBe('1000');
});

test('a worker thread is told by /proc, and is its process where that is unreadable', () => {
  expect(identity({ '/proc/thread-self/stat': stat({ id: 47, start: 1300 }) })).toMatchObject({
    pid: 42,
    thread: 47,
    started: '1300',
  });
  expect(identity({ '/proc/thread-self/stat': errno('ENOENT') })).toMatchObject({ thread: 42, started: '' });
});

test('to be out of files is an error: a wrong host key would let two processes hold one local lock', () => {
  for (const path of ['/proc/sys/kernel/random/boot_id', '/proc/self/ns/pid', '/proc/self/status']) {
    expect(() => hostOf(fakeSystem({ ...LINUX, [path]: errno('EMFILE') }))).toThrow('EMFILE');
  }
});

test.each([
  ['', ''],
  ['a-host', 'a-host'],
  ['x'.repeat(64), 'x'.repeat(64)],
  ['x'.repeat(255), 'x'.repeat(64)],
  [`${'x'.repeat(63)}é`, 'x'.repeat(63)],
  [`${'x'.repeat(62)}é`, `${'x'.repeat(62)}é`],
  ['🐟'.repeat(20), '🐟'.repeat(16)],
  [`x${'🐟'.repeat(20)}`, `x${'🐟'.repeat(15)}`],
])('the host name %j is kept as %j, at most 64 bytes', (name, kept) => {
  expect(ownIdentity(hostOf(fakeSystem(LINUX)), name).host).toBe(kept);
});
