import { Controller, Get, Inject, Injectable, Module, Scope } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import knex from 'knex';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  CurrentLock,
  getLockToken,
  type HeldLock,
  InjectLock,
  LockConfigError,
  LockModule,
  type LockModuleOptions,
  type LockOptionsFactory,
  LockService,
  LockStorageError,
  UseLock,
} from '../../lib/index.js';
import { connection, startLockApp, startRival } from './lock-app.js';

type Metadata = Parameters<typeof Test.createTestingModule>[0];

async function boot(metadata: Metadata) {
  const module = await Test.createTestingModule(metadata).compile();
  onTestFinished(() => module.close());
  return await module.init();
}

@Injectable()
class Reports {
  constructor(@Inject(LockService) readonly locks: LockService) {}
}

describe('LockModule.forRoot', () => {
  it('provides the lock service where it is imported, and nowhere else', async () => {
    @Module({ imports: [LockModule.forRoot({ connection: connection() })], providers: [Reports] })
    class ReportsModule {
      readonly name = 'reports';
    }
    const module = await boot({ imports: [ReportsModule] });
    expect(await module.get(Reports, { strict: false }).locks.tryAcquire('module')).toMatchObject({
      name: 'module',
    });
    await expect(boot({ imports: [ReportsModule], providers: [Reports] })).rejects.toThrow(
      "Nest can't resolve dependencies of the Reports",
    );
  });

  it('provides it everywhere when it is global', async () => {
    @Module({ providers: [Reports] })
    class ReportsModule {
      readonly name = 'reports';
    }
    const module = await boot({
      imports: [LockModule.forRoot({ connection: connection(), isGlobal: true }), ReportsModule],
    });
    expect(module.get(Reports, { strict: false }).locks).toBe(module.get(LockService));
  });

  it('creates the table when the application starts, not at the first lock', async () => {
    await boot({ imports: [LockModule.forRoot({ connection: connection(), table: 'made_at_boot' })] });
    const database = knex({ client: 'mysql2', connection: connection() });
    onTestFinished(() => database.destroy());
    expect(await database.schema.hasTable('made_at_boot')).toBe(true);
  });

  it.each([
    ['options that cannot work', { lease: 'soon' as never }, LockConfigError],
    ['a database that cannot be reached', { connection: 'mysql://root@127.0.0.1:1/none' }, LockStorageError],
    [
      'a table that is missing and must not be made',
      { table: 'missing', createTable: false },
      LockConfigError,
    ],
  ])('does not start with %s', async (_, options: Partial<LockModuleOptions>, error) => {
    const module = LockModule.forRoot({ connection: connection(), ...options });
    const start = async () => await (await Test.createTestingModule({ imports: [module] }).compile()).init();
    await expect(start()).rejects.toThrow(error);
  });

  it('neither uses nor destroys a Knex that it is given', async () => {
    const mine = knex({ client: 'mysql2', connection: connection() });
    onTestFinished(() => mine.destroy());
    const queries: unknown[] = [];
    mine.on('query', (query) => queries.push(query));
    const module = await boot({ imports: [LockModule.forRoot({ connection: mine })] });
    await module.get(LockService).run('module', () => undefined);
    await module.close();
    expect(queries).toEqual([]);
    expect(await mine.raw('SELECT 1 AS one')).toMatchObject([[{ one: 1 }], {}]);
  });
});

describe('LockModule.forRootAsync', () => {
  @Injectable()
  class Config implements LockOptionsFactory {
    readonly table = 'from_config';

    createLockOptions() {
      return Promise.resolve({ connection: connection(), table: this.table });
    }
  }
  @Module({ providers: [Config], exports: [Config] })
  class ConfigModule {
    readonly name = 'config';
  }

  it.each([
    [
      'a factory',
      () =>
        LockModule.forRootAsync({
          imports: [ConfigModule],
          inject: [Config],
          useFactory: (config: Config) => config.createLockOptions(),
        }),
    ],
    ['a class', () => LockModule.forRootAsync({ useClass: Config })],
    ['an existing provider', () => LockModule.forRootAsync({ imports: [ConfigModule], useExisting: Config })],
  ])('takes the options from %s', async (_, configure) => {
    const module = await boot({ imports: [configure()] });
    const held = await module.get(LockService).acquire('async');
    const rival = await startRival({ table: 'from_config' });
    expect(await rival.tryAcquire('async')).toBeNull();
    await held.release();
  });

  it('takes isGlobal and instance from beside the factory', async () => {
    const locks = LockModule.forRootAsync({ useClass: Config, isGlobal: true, instance: 'async' });
    expect(locks).toMatchObject({ global: true, exports: ['LockService:async'] });
  });
});

const services = () => [
  LockModule.forRoot({ connection: connection(), table: 'named_main' }),
  LockModule.forRoot({ connection: connection(), table: 'named_reports', instance: 'reports' }),
];

describe('Named lock services', () => {
  @Injectable()
  class Both {
    constructor(
      @Inject(LockService) readonly main: LockService,
      @InjectLock('reports') readonly reports: LockService,
    ) {}

    @UseLock('both')
    @UseLock('both', { instance: 'reports' })
    async held() {
      return [(await this.main.list()).length, (await this.reports.list()).length];
    }
  }

  it('live in one application, each with its own table, for injection and for @UseLock', async () => {
    const module = await boot({ imports: services(), providers: [Both] });
    const both = module.get(Both);
    expect(both.reports).toBe(module.get(getLockToken('reports')));
    expect(both.reports).not.toBe(both.main);
    expect(await both.held()).toEqual([1, 1]);
    const [main, reports] = [await both.main.tryAcquire('same'), await both.reports.tryAcquire('same')];
    expect([main?.held, reports?.held]).toEqual([true, true]);
  });

  it('are missed by name when their module is not there', async () => {
    const [main] = services();
    await expect(boot({ imports: [main!], providers: [Both] })).rejects.toThrow('LockService:reports');
  });
});

describe('A request-scoped controller', () => {
  @Controller({ scope: Scope.REQUEST })
  class Scoped {
    readonly born = Symbol('request');

    @Get()
    @UseLock('scoped')
    get(@CurrentLock() lock: HeldLock) {
      return { name: lock.name };
    }
  }

  it('is locked like any other', async () => {
    const { get, rival } = await startLockApp({ controllers: [Scoped] });
    expect(await get('/')).toEqual({ status: 200, body: { name: 'scoped' } });
    await rival.acquire('scoped');
    expect((await get('/')).status).toBe(423);
  });
});
