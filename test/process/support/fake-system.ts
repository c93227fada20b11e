import { hostOf } from '../../../lib/process/this-host.js';
import { ownIdentity } from '../../../lib/process/own-identity.js';
import type { System } from '../../../lib/process/system.js';
import type { OwnerIdentity } from '../../../lib/shared/owner.js';

/** What a file, a link, a program or signal 0 answers; an Error is thrown. */
export type Answers = Readonly<Record<string, string | Error>>;

/** Where process 42 with its thread 42 is "we", and nothing else exists. */
export const LINUX: Answers = {
  '/proc/sys/kernel/random/boot_id': 'acd7abb3-d106-4b0b-a9de-a50d57836525\n',
  '/proc/self/ns/pid': 'pid:[4026531836]',
  '/proc/self/ns/time': 'time:[4026531834]',
  '/proc/self/status': 'Name:\tnode\nTgid:\t42\nPid:\t42\nNStgid:\t42\nNSpid:\t42\nThreads:\t11\n',
  '/proc/thread-self/stat': stat({ id: 42 }),
  'kill 42': '',
};

export const MAC: Answers = {
  '/usr/sbin/sysctl -n kern.bootsessionuuid': '4C4C7D5E-1B0D-4A26-B1D7-0D4E0B0E7B3A\n',
  '/bin/ps -o state= -o lstart= -p 42': 'S    Tue Dec  1 10:57:05 2026\n',
  'kill 42': '',
};

export function stat({ id = 42, name = 'node', state = 'S', threads = 11, start = 1000 } = {}): string {
  const before20 = Array<number>(16).fill(7).join(' ');
  return `${id} (${name}) ${state} ${before20} ${threads} 0 ${start} 1000000 500\n`;
}

export function errno(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** A system that gives these answers, ENOENT where it has no such file, and ESRCH where it has no such process. */
export function fakeSystem(answers: Answers, over: Partial<System> = {}): System {
  const answer = (key: string, absent: string) => {
    const value = answers[key] ?? errno(absent);
    if (value instanceof Error) throw value;
    return value;
  };
  return {
    platform: 'linux',
    pid: 42,
    hostname: () => 'a-host',
    read: (path) => answer(path, 'ENOENT'),
    readlink: (path) => answer(path, 'ENOENT'),
    run: (file, args) => answer([file, ...args].join(' '), 'ENOENT'),
    signal: (id) => void answer(`kill ${id}`, 'ESRCH'),
    ...over,
  };
}

/** The host of a system with these answers, and process 42's identity on it with changes. */
export function fakeHost(answers: Answers, over: Partial<System> = {}) {
  const host = hostOf(fakeSystem(answers, over));
  return { host, owner: (changes: Partial<OwnerIdentity> = {}) => ({ ...ownIdentity(host), ...changes }) };
}
