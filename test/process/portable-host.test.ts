import { execFileSync } from 'node:child_process';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { probe } from '../../lib/process/liveness.js';
import { ownIdentity } from '../../lib/process/own-identity.js';
import { system, type System } from '../../lib/process/system.js';
import { hostOf } from '../../lib/process/this-host.js';
import type { OwnerIdentity } from '../../lib/shared/owner.js';
import { killAndReap, startUnreaped, untilState } from './support/children.js';
import { errno, fakeHost, fakeSystem, LINUX, MAC, type Answers } from './support/fake-system.js';

const STARTED = 'Tue Dec  1 10:57:05 2026';
const PS_50 = '/bin/ps -o state= -o lstart= -p 50';
const SYSCTL = '/usr/sbin/sysctl -n kern.bootsessionuuid';

function mac(answers: Answers) {
  return fakeHost({ ...MAC, ...answers }, { platform: 'darwin' });
}

function judge(answers: Answers, changes: Partial<OwnerIdentity> = {}) {
  const { host, owner } = mac({ 'kill 50': '', ...answers });
  return probe(owner({ pid: 50, thread: 50, started: STARTED, ...changes }), host);
}

/** This machine, were it a Mac: with its own `ps`. */
const macWithRealPs: System = { ...system, platform: 'darwin', run: runOnMac };

function runOnMac(file: string, args: readonly string[]): string {
  return file.endsWith('sysctl') ? 'a boot session' : system.run(file, args);
}

describe('on macOS', () => {
  test('a process names its boot session and the start that ps tells', () => {
    expect(mac({}).owner()).toMatchObject({ pid: 42, thread: 42, started: STARTED });
    expect(mac({ [SYSCTL]: 'another boot\n' }).owner().hostKey).not.toEqual(mac({}).owner().hostKey);
  });

  test('who does not exist, ended or has another start is dead', () => {
    expect(judge({ 'kill 50': errno('ESRCH') })).toBe('dead');
    expect(judge({ [PS_50]: 'Z+   Tue Dec  1 10:57:05 2026\n' })).toBe('dead');
    expect(judge({ [PS_50]: 'Z    -\n' })).toBe('dead');
    expect(judge({ [PS_50]: 'S    Tue Dec  1 10:57:06 2026\n' })).toBe('dead');
  });

  test('who exists is alive, also when it is stopped or another user’s', () => {
    for (const state of ['R', 'S+', 'T', 'U', 'Ss']) {
      expect(judge({ [PS_50]: `${state}    ${STARTED}\n` })).toBe('alive');
      expect(judge({ 'kill 50': errno('EPERM'), [PS_50]: `${state} ${STARTED}\n` })).toBe('alive');
    }
  });

  test('what ps does not tell is no evidence', () => {
    for (const words of ['', '\n', '1 2 3', 'ps: illegal option', 'S Tue 1. Dez 10:57:06 2026']) {
      expect(judge({ [PS_50]: words })).toBe('alive');
    }
    expect(judge({ [PS_50]: `S ${STARTED}` }, { started: '' })).toBe('alive');
    expect(judge({ [PS_50]: `S ${STARTED}` }, { started: 'null' })).toBe('alive');
  });

  test('without ps only ESRCH proves a death, and no error escapes', () => {
    for (const error of [
      errno('ENOENT'),
      errno('EACCES'),
      Object.assign(new Error('failed'), { status: 1 }),
    ]) {
      const { host, owner } = mac({
        '/bin/ps -o state= -o lstart= -p 42': error,
        [PS_50]: error,
        'kill 50': '',
      });
      expect(owner().started).toBe('');
      expect(probe(owner({ pid: 50, thread: 50, started: STARTED }), host)).toBe('alive');
      expect(probe(owner({ pid: 51, thread: 51, started: STARTED }), host)).toBe('dead');
    }
  });

  test('without a boot session nobody is judged', () => {
    for (const answer of [errno('ENOENT'), Object.assign(new Error('unknown oid'), { status: 1 }), '\n']) {
      expect(judge({ [SYSCTL]: answer, 'kill 50': errno('ESRCH') })).toBe('unknown');
    }
    expect(() => mac({ [SYSCTL]: errno('EMFILE') })).toThrow('EMFILE');
    expect(() => mac({ [SYSCTL]: errno('ETIMEDOUT') })).toThrow('ETIMEDOUT');
  });
});

describe('the real ps, as macOS has it too', () => {
  const installed = (() => {
    try {
      return execFileSync('/bin/ps', ['-o', 'lstart=', '-p', '1'], { encoding: 'utf8' }).length > 0;
    } catch {
      // No ps, or one that knows no lstart, like BusyBox'.
      return false;
    }
  })();

  test('tells the living from the dead, and one start from another', async ({ skip }) => {
    skip(!installed, '/bin/ps is missing or has no lstart');
    const host = hostOf(macWithRealPs);
    const { parent: child, pid: zombie } = await startUnreaped('sleep', '100');
    const me = ownIdentity(host);
    const owner = {
      ...me,
      pid: child.pid,
      thread: child.pid,
      started: host.observe({ ...me, pid: child.pid })!.started,
    };

    expect(me.started).toMatch(/^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/);
    expect(probe(me, host)).toBe('alive');
    expect(probe(owner, host)).toBe('alive');
    expect(probe({ ...owner, started: STARTED.replace('2026', '1999') }, host)).toBe('dead');
    process.kill(zombie, 'SIGKILL');
    await untilState(zombie, 'Z');
    expect(probe({ ...me, pid: zombie, thread: zombie, started: '' }, host)).toBe('dead');
    await killAndReap(child);
    expect(probe(owner, host)).toBe('dead');
  });
});

test("a program's answer does not depend on this process's time zone and language", () => {
  vi.stubEnv('TZ', 'Asia/Tokyo');
  vi.stubEnv('LC_ALL', 'de_DE.UTF-8');
  onTestFinished(() => void vi.unstubAllEnvs());
  const code = '[new Date(0).getHours(), process.env.LC_ALL].join()';
  expect(system.run(process.execPath, ['-p', code])).toBe('0,C\n');
});

describe('where no key is certain', () => {
  const withoutProc = fakeSystem({});
  const systems = {
    Windows: fakeSystem({}, { platform: 'win32' }),
    FreeBSD: fakeSystem({}, { platform: 'freebsd' }),
    'a system that is no Mac but answers like one': fakeSystem(MAC, { platform: 'freebsd' }),
    'Linux without /proc': withoutProc,
    'Linux without a boot id': fakeSystem({ ...LINUX, '/proc/sys/kernel/random/boot_id': errno('ENOENT') }),
    'Linux with an empty boot id': fakeSystem({ ...LINUX, '/proc/sys/kernel/random/boot_id': '\n' }),
    'Linux without namespaces': fakeSystem({ ...LINUX, '/proc/self/ns/pid': errno('ENOENT') }),
    'Linux that hides namespaces': fakeSystem({ ...LINUX, '/proc/self/ns/pid': errno('EACCES') }),
  };

  test.each(Object.entries(systems))('%s: nobody is judged, not even who does not exist', (_, system) => {
    const host = hostOf(system);
    const me = ownIdentity(host);
    expect(me).toMatchObject({ pid: 42, thread: 42, started: '' });
    expect(probe(me, host)).toBe('unknown');
    expect(probe({ ...me, pid: 4_000_000, thread: 4_000_000 }, host)).toBe('unknown');
  });

  test("processes of one host's name share their local locks, others do not", () => {
    const [one, same, other] = ['one', 'one', 'two'].map(
      (name) => hostOf({ ...withoutProc, hostname: () => name }).key,
    );
    expect(one).toEqual(same);
    expect(one).not.toEqual(other);
  });
});
