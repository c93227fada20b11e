import { describe, expect, it } from 'vitest';
import {
  LockConfigError,
  LockError,
  LockLostError,
  LockNameError,
  LockReentrancyError,
  LockShutdownError,
  LockStorageError,
  LockTimeoutError,
} from 'nestjs-interlock';
import { connectionSurvives, storageError, troubleOf } from '../../lib/store/storage-trouble.js';

const cause = new Error('the cause');
const since = new Date('2026-01-02T03:04:05.678Z');
const HOLDER = { host: 'web-1', pid: 7, thread: 7, since, label: '' };

const ALL = [
  [new LockTimeoutError('k', 1_500, HOLDER), 'LockTimeoutError', 'LOCK_TIMEOUT', 'k'],
  [new LockLostError('k', 'taken', { cause }), 'LockLostError', 'LOCK_LOST', 'k'],
  [new LockStorageError('no', 'full', { cause, lockName: 'k' }), 'LockStorageError', 'LOCK_STORAGE', 'k'],
  [new LockReentrancyError('k'), 'LockReentrancyError', 'LOCK_REENTRANCY', 'k'],
  [new LockNameError('no', 'k'), 'LockNameError', 'LOCK_NAME', 'k'],
  [new LockConfigError('no'), 'LockConfigError', 'LOCK_CONFIG', undefined],
  [new LockShutdownError(), 'LockShutdownError', 'LOCK_SHUTDOWN', undefined],
] as const;

/** As the driver tells of a server's answer, and of a connection that broke. */
const answered = (errno: number) => Object.assign(new Error('no'), { errno, code: 'ER', sqlState: 'HY000' });
const broken = (code: string) => Object.assign(new Error('no'), { code, errno: -111 });

describe('an error of the library', () => {
  it.each(ALL)('%s has its name, its code, and its lock', (error, name, code, lockName) => {
    expect(error).toBeInstanceOf(LockError);
    expect(error).toBeInstanceOf(Error);
    expect([error.name, error.code, error.lockName]).toEqual([name, code, lockName]);
    expect(error.stack).toContain(name);
  });

  it('carries its cause, where it has one', () => {
    expect(ALL.map(([error]) => error.cause)).toEqual([undefined, cause, cause, ...Array(4).fill(undefined)]);
  });

  it('tells of a timeout who holds the lock', () => {
    const messageOf = (holder?: typeof HOLDER) => new LockTimeoutError('k', 1_540, holder).message;
    const start = "Lock 'k' was not granted within 1.5 s: it is";
    expect(messageOf()).toBe(`${start} still held.`);
    expect(messageOf(HOLDER)).toBe(`${start} held by pid 7 on web-1 since 2026-01-02T03:04:05.678Z.`);
    expect(messageOf({ ...HOLDER, thread: 9, label: 'the report' })).toBe(
      `${start} held by pid 7 thread 9 on web-1 (the report) since 2026-01-02T03:04:05.678Z.`,
    );
    expect(new LockTimeoutError('k', 3, undefined, 'the table recovers').message).toBe(
      "Lock 'k' was not granted within 3 ms: the table recovers.",
    );
  });
});

describe('the trouble with the database', () => {
  it.each([
    ...[1020, 1040, 1047, 1053, 1180, 1203, 1205, 1213, 1317, 1927, 2006, 2013, 3101, 4031].map(
      (errno) => [errno, 'transient'] as const,
    ),
    ...[1290, 1792, 1836, 3100, 6400].map((errno) => [errno, 'read-only'] as const),
    ...[[1114, 'full'] as const, [1146, 'no-table'] as const],
    ...[1044, 1045, 1049, 1054, 1064, 1142, 1364, 3098].map((errno) => [errno, 'refused'] as const),
  ])('%d is %s', (errno, trouble) => {
    expect(troubleOf(answered(errno))).toBe(trouble);
    expect(storageError(answered(errno))).toMatchObject({ code: 'LOCK_STORAGE', trouble });
  });

  it('is transient when no server answered, and refused when the program is wrong', () => {
    for (const code of [
      'ECONNREFUSED',
      'ECONNRESET',
      'PROTOCOL_CONNECTION_LOST',
      'PROTOCOL_SEQUENCE_TIMEOUT',
    ])
      expect(troubleOf(broken(code))).toBe('transient');
    expect(troubleOf(new Error('Connection lost: the server closed the connection.'))).toBe('transient');
    expect(troubleOf(new TypeError('x is not a function'))).toBe('refused');
  });

  it('costs the connection unless the server itself answered and is still there', () => {
    for (const errno of [1213, 1205, 1062, 1114]) expect(connectionSurvives(answered(errno))).toBe(true);
    for (const errno of [1053, 1927, 2006, 2013, 4031])
      expect(connectionSurvives(answered(errno))).toBe(false);
    expect(connectionSurvives(broken('PROTOCOL_SEQUENCE_TIMEOUT'))).toBe(false);
    expect(connectionSurvives(new TypeError('a bug'))).toBe(false);
  });

  it('is wrapped once, says what the driver said, and keeps that as its cause', () => {
    const driver = answered(1142);
    const wrapped = storageError(driver);
    expect(wrapped.message).toBe('The lock table could not be used: no');
    expect(wrapped.cause).toBe(driver);
    expect(storageError(wrapped)).toBe(wrapped);
    const silent = Object.assign(new Error(''), { code: 'ECONNREFUSED' });
    expect(storageError(silent).message).toContain('ECONNREFUSED');
  });
});
