import { describe, expect, it } from 'vitest';
import { createLockTableSql, LockConfigError } from 'nestjs-interlock';
import { composeLocks } from '../../lib/nest/compose.js';
import { resolveOptions } from '../../lib/nest/resolve-options.js';
import { resolveAcquire } from '../../lib/shared/acquire-options.js';
import { checkColumns, COLUMNS, longestLeaseOf } from '../../lib/store/schema.js';

const DEFAULTS = { waitMs: 10_000, leaseMs: 30_000 };
const URL = 'mysql://user:secret@host:3306/name';
const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };

/** Everything that is wrong, with what its error has to say. */
function expectRefusal(work: () => unknown, message: string) {
  expect(work).toThrow(LockConfigError);
  expect(work).toThrow(message);
}

const acquireOptions = (options: unknown) => resolveAcquire(options as never, DEFAULTS);
const moduleOptions = (more: object = {}) => resolveOptions({ connection: URL, ...more }, quiet);

describe('the options of an acquisition', () => {
  it('come from the module where they are left out', () => {
    const complete = { scope: 'global', label: '', reentrant: false, signal: undefined, ...DEFAULTS };
    expect(acquireOptions({})).toEqual(complete);
    expect(acquireOptions({ wait: undefined, lease: undefined, scope: undefined, label: undefined })).toEqual(
      complete,
    );
  });

  it('are taken as they are given', () => {
    const { signal } = new AbortController();
    const given = {
      scope: 'local',
      wait: '1.5s',
      lease: 250,
      signal,
      label: 'ä'.repeat(50),
      reentrant: true,
    } as const;
    expect(acquireOptions(given)).toEqual({
      ...{ scope: 'local', waitMs: 1_500, leaseMs: 250, signal, label: 'ä'.repeat(50), reentrant: true },
    });
  });

  it.each([
    [false, 0],
    [0, 0],
    ['0s', 0],
    [0.4, 0.4],
    [Infinity, Infinity],
    ['1h', 3_600_000],
  ])('a wait of %s is %d ms', (wait, waitMs) => {
    expect(acquireOptions({ wait }).waitMs).toBe(waitMs);
  });

  it.each([
    [100, 100],
    ['100ms', 100],
    ['24h', 86_400_000],
    [333.4, 333],
  ])('a lease of %s is %d ms', (lease, leaseMs) => {
    expect(acquireOptions({ lease }).leaseMs).toBe(leaseMs);
  });

  const WAIT = "Expected wait to be false or a duration of 0 or more, like 500 or '10s' and got";
  const LEASE = 'Expected lease to be a duration of 100 ms to 86400000 ms and got';
  it.each([
    [null, 'Expected options to be an object and got null.'],
    ['10s', 'Expected options to be an object and got "10s".'],
    [{ scope: 'host' }, `Expected scope to be 'global' or 'local' and got "host".`],
    [{ scope: null }, 'Expected scope to be'],
    [{ wait: -1 }, `${WAIT} -1.`],
    [{ wait: Number.NaN }, `${WAIT} NaN.`],
    [{ wait: 'soon' }, `${WAIT} "soon".`],
    [{ wait: true }, `${WAIT} true.`],
    [{ wait: null }, `${WAIT} null.`],
    [{ wait: {} }, `${WAIT} an object.`],
    [{ lease: 0 }, `${LEASE} 0.`],
    [{ lease: -1 }, `${LEASE} -1.`],
    [{ lease: 99 }, `${LEASE} 99.`],
    [{ lease: 0.4 }, `${LEASE} 0.4.`],
    [{ lease: Number.NaN }, `${LEASE} NaN.`],
    [{ lease: Infinity }, `${LEASE} Infinity.`],
    [{ lease: 2 ** 53 }, `${LEASE} 9007199254740992.`],
    [{ lease: '25h' }, `${LEASE} "25h".`],
    [{ lease: 'soon' }, `${LEASE} "soon".`],
    [{ lease: false }, `${LEASE} false.`],
    [{ signal: {} }, 'Expected signal to be an AbortSignal and got an object.'],
    [{ signal: null }, 'Expected signal to be an AbortSignal and got null.'],
    [{ label: 7 }, 'Expected label to be a string and got 7.'],
    [{ label: 'ä'.repeat(51) }, 'Expected label to have at most 100 bytes and got'],
    [{ reentrant: 'yes' }, 'Expected reentrant to be true or false and got "yes".'],
  ])('%j is refused, and the error says what was expected', (options, message) => {
    expectRefusal(() => acquireOptions(options), message);
  });
});

describe('the options of the module', () => {
  it('have defaults, also where they are given as undefined', () => {
    const complete = {
      ...{ connection: URL, waitMs: 10_000, leaseMs: 30_000, everyMs: 5_000, drainMs: 10_000 },
      tableOptions: { table: 'locks', engine: 'auto', createTable: true, lease: 30_000, logger: quiet },
    };
    expect(moduleOptions()).toEqual(complete);
    const names = ['engine', 'table', 'createTable', 'lease', 'wait', 'reaper', 'drain'];
    expect(moduleOptions(Object.fromEntries(names.map((name) => [name, undefined])))).toEqual(complete);
    expect(moduleOptions({ reaper: {} }).everyMs).toBe(5_000);
  });

  it('are taken as they are given', () => {
    const given = {
      engine: 'Aria',
      table: 'my_locks$',
      createTable: false,
      lease: '1m',
      wait: false,
      drain: 0,
    };
    expect(moduleOptions({ ...given, reaper: false })).toMatchObject({
      ...{ waitMs: 0, leaseMs: 60_000, everyMs: Infinity, drainMs: 0 },
      tableOptions: { table: 'my_locks$', engine: 'Aria', createTable: false, lease: 60_000 },
    });
  });

  it.each([
    [{ connection: undefined }, 'Expected connection: a URL, a Knex configuration or a Knex.'],
    [{ engine: '' }, `Expected a storage engine's name and got "".`],
    [{ engine: 'memory; DROP TABLE locks' }, `Expected a storage engine's name`],
    [{ engine: null }, `Expected a storage engine's name and got null.`],
    [{ table: 'a b' }, 'Expected a table name of letters, digits, _ and $ and got "a b".'],
    [{ table: 'db.locks' }, 'Expected a table name'],
    [{ table: '`' }, 'Expected a table name'],
    [{ table: '' }, 'Expected a table name'],
    [{ table: 'x'.repeat(65) }, 'Expected a table name'],
    [{ table: null }, 'Expected a table name'],
    [{ createTable: 1 }, 'Expected createTable to be true or false and got 1.'],
    [{ lease: '10ms' }, 'Expected lease to be a duration'],
    [{ lease: null }, 'Expected lease to be a duration'],
    [{ wait: 'ever' }, 'Expected wait to be false or a duration'],
    [{ drain: -1 }, 'Expected drain to be a duration of 0 ms to 86400000 ms and got -1.'],
    [{ drain: Infinity }, 'Expected drain to be a duration'],
    [{ drain: false }, 'Expected drain to be a duration'],
    [{ reaper: true }, 'Expected reaper to be false or an object and got true.'],
    [{ reaper: null }, 'Expected reaper to be false or an object and got null.'],
    [
      { reaper: { every: 10 } },
      'Expected reaper.every to be a duration of 100 ms to 86400000 ms and got 10.',
    ],
    [{ reaper: { every: Infinity } }, 'Expected reaper.every to be a duration'],
  ])('%j are refused, and the error says what was expected', (more, message) => {
    expectRefusal(() => moduleOptions(more), message);
  });

  it.each([null, undefined, 'mysql://host/db', 7])('are not %s', (options) => {
    expectRefusal(
      () => resolveOptions(options as never, quiet),
      'Expected the module options to be an object',
    );
  });

  it.each([
    ['postgres://host/db', 'Expected connection to be a URL like mysql://'],
    ['not a URL', 'Expected connection to be a URL like mysql://'],
    [null, 'Expected connection to be a URL, a Knex configuration or a Knex and got null.'],
    [7, 'Expected connection to be a URL, a Knex configuration or a Knex and got 7.'],
    [{ client: 'pg', connection: URL }, 'Expected a Knex for the client mysql2 and got "pg".'],
    [{ client: 'mysql2' }, 'Expected the Knex configuration to have a connection'],
  ])('do not connect to %j', (connection, message) => {
    const compose = () => composeLocks({ connection: connection as never }, quiet);
    expectRefusal(compose, message);
    expect(() => compose()).not.toThrow(/secret/);
  });
});

describe('the definition of the table', () => {
  it('cannot be made to say anything else', () => {
    expectRefusal(() => createLockTableSql({ table: 'a` (b INT)' }), 'Expected a table name');
    expectRefusal(() => createLockTableSql({ engine: 'InnoDB DATA' }), `Expected a storage engine's name`);
  });

  it('tells the longest lease, and its version', () => {
    const [create] = createLockTableSql({ longestLease: 1_234 });
    const comment = /COMMENT='(.*)'$/.exec(create)![1]!;
    expect(longestLeaseOf('locks', comment)).toBe(1_234);
    for (const foreign of ['', 'ours', `${comment} `, `x${comment}`, comment.replace('ms', 's')])
      expectRefusal(() => longestLeaseOf('locks', foreign), 'exists and is not a lock table');
    expectRefusal(() => longestLeaseOf('locks', comment.replace('v1', 'v2')), 'is a lock table of version 2');
  });

  it('is recognized with display widths and in capitals, and not without each of its columns', () => {
    const all = new Map<string, string>(Object.entries(COLUMNS));
    expect(() => checkColumns('locks', all)).not.toThrow();
    const wide = new Map(all).set('lease', 'BIGINT(20)').set('pid', 'int(10) unsigned');
    expect(() => checkColumns('locks', wide.set('extra', 'text'))).not.toThrow();
    for (const name of all.keys()) {
      const fewer = new Map(all);
      fewer.delete(name);
      expectRefusal(() => checkColumns('locks', fewer), `expected column ${name}`);
    }
  });
});
