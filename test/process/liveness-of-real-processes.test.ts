import { expect, onTestFinished, test } from 'vitest';
import { probe } from '../../lib/process/liveness.js';
import { ownIdentity } from '../../lib/process/own-identity.js';
import {
  killAndReap,
  linesOf,
  ownerOf,
  POLLING,
  script,
  start,
  startUnreaped,
  statField,
  untilState,
} from './support/children.js';
import { fromJson } from './support/identity-json.js';
import { startOwnerThread } from './support/start-owner-thread.js';

test('this process is alive', () => {
  expect(probe(ownIdentity())).toBe('alive');
});

test('a running process is alive, and dead once it was killed and reaped', async () => {
  const child = await start('sleep', ['100']);
  const owner = ownerOf(child.pid);

  expect(probe(owner)).toBe('alive');
  await killAndReap(child);
  expect(probe(owner)).toBe('dead');
});

test('a process of this library names itself so that others can judge it', async () => {
  const [file, ...args] = script('owner-process.ts');
  const child = await start(file, args);
  const owner = fromJson(await child.nextLine());

  expect(owner).toEqual(ownerOf(child.pid));
  expect(probe(owner)).toBe('alive');
  await killAndReap(child);
  expect(probe(owner)).toBe('dead');
});

test('a killed process that nobody reaped is dead', async () => {
  const { pid } = await startUnreaped('sleep', '100');
  const owner = ownerOf(pid);
  expect(probe(owner)).toBe('alive');

  process.kill(pid, 'SIGKILL');
  await untilState(pid, 'Z');

  expect(process.kill(pid, 0)).toBe(true);
  expect(probe(owner)).toBe('dead');
  expect(probe({ ...owner, started: '' })).toBe('dead');
});

test('a killed process with many threads that nobody reaped is dead', async () => {
  const { parent, pid } = await startUnreaped(...script('owner-process.ts'));
  const [main, worker] = [fromJson(await parent.nextLine()), fromJson(await parent.nextLine())];
  expect([main, worker].map((owner) => probe(owner))).toEqual(['alive', 'alive']);

  process.kill(pid, 'SIGKILL');

  await expect.poll(() => probe(main), POLLING).toBe('dead');
  expect(statField(String(pid), 3)).toBe('Z');
  expect(probe(worker)).toBe('dead');
});

test('a stopped process is alive', async () => {
  const child = await start('sleep', ['100']);
  const owner = ownerOf(child.pid);

  process.kill(child.pid, 'SIGSTOP');
  await untilState(child.pid, 'T');

  expect(probe(owner)).toBe('alive');
});

test('an id that now belongs to a process with another start is not its owner', async () => {
  const child = await start('sleep', ['100']);
  const owner = ownerOf(child.pid);

  expect(probe({ ...owner, started: String(Number(owner.started) - 1) })).toBe('dead');
  expect(probe({ ...owner, started: '' })).toBe('alive');
});

test('an earlier process that had the pid of this one is dead', () => {
  expect(probe({ ...ownIdentity(), started: '1' })).toBe('dead');
});

test('a worker thread is alive as long as it runs, and dead while its process lives on', async () => {
  const { worker, owner } = await startOwnerThread();
  onTestFinished(async () => void (await worker.terminate()));
  expect(owner.pid).toBe(process.pid);
  expect(probe(owner)).toBe('alive');

  await worker.terminate();

  await expect.poll(() => probe(owner), POLLING).toBe('dead');
  expect(probe(ownIdentity())).toBe('alive');
});

test("another process's worker thread is judged apart from its process", async () => {
  const [file, ...args] = script('owner-process.ts');
  const child = await start(file, args);
  const [main, worker] = [fromJson(await child.nextLine()), fromJson(await child.nextLine())];
  expect(worker.thread).not.toBe(main.thread);
  expect(probe(worker)).toBe('alive');

  child.process.stdin!.write('\n');
  expect(await child.nextLine()).toBe('the worker ended');

  await expect.poll(() => probe(worker), POLLING).toBe('dead');
  expect(probe(main)).toBe('alive');
});

test('a process whose main thread ended before the others is alive', async ({ skip }) => {
  const code = [
    'import ctypes, threading, time',
    'threading.Thread(target=time.sleep, args=(100,)).start()',
    'ctypes.CDLL(None).pthread_exit(None)',
  ].join('\n');
  const python = await linesOf(['python3', '-c', 'import ctypes; print("there")']).catch(() => []);
  skip(
    python[0] !== 'there',
    "Node's main thread cannot end alone, and there is no python3 to show one that does",
  );
  const child = await start('python3', ['-c', code]);
  await untilState(child.pid, 'Z');
  const owner = ownerOf(child.pid);

  expect(statField(String(child.pid), 20)).toBe('2');
  expect(probe(owner)).toBe('alive');
  await killAndReap(child);
  expect(probe(owner)).toBe('dead');
});

test("another user's process is alive although it may not be signalled", async ({ skip }) => {
  skip(process.getuid!() !== 0, 'only root can start a process of another user');
  const child = await start('sleep', ['100'], { uid: 65_533 });
  const owner = ownerOf(child.pid);
  onTestFinished(() => process.seteuid!(0));
  process.seteuid!(65_534);

  expect(() => process.kill(child.pid, 0)).toThrow('EPERM');
  expect(probe(owner)).toBe('alive');
  expect(probe({ ...owner, started: '1' })).toBe('dead');
});
