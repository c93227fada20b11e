import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  type INestApplication,
  Inject,
  Injectable,
  Module,
  Scope,
  type Type,
  UseFilters,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { catchError, type Observable, throwError } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  LockError,
  LockLostError,
  LockService,
  LockShutdownError,
  LockStorageError,
  LockTimeoutError,
  toHttpException,
  UseLock,
} from '../../lib/index.js';
import { startLockApp } from './lock-app.js';

/** What a filter or interceptor of the application was given. */
let seen: unknown;
beforeEach(() => (seen = undefined));

@Controller()
class Reports {
  constructor(@Inject(LockService) private readonly locks: LockService) {}

  @Get('decorated')
  @UseLock('report')
  decorated() {
    return 'done';
  }

  @Get('programmatic')
  async programmatic() {
    await this.locks.acquire('report');
  }

  @Get('both')
  @UseLock('other')
  async both() {
    await this.locks.acquire('report');
  }

  @Get('named/:id')
  @UseLock('report-{id}')
  named() {}

  @Get('conflict')
  @UseLock('report', { status: 409 })
  conflict() {}
}

/** Sees every error that leaves a handler and its interceptors. */
const outside = {
  intercept: (_: unknown, next: { handle(): Observable<unknown> }) =>
    next.handle().pipe(catchError((error: unknown) => throwError(() => (seen = error)))),
};

const busy = (statusCode = 423, error = 'Locked') => ({
  status: statusCode,
  body: { statusCode, error, code: 'LOCK_TIMEOUT', message: "The lock 'report' is held." },
});

it('A request whose value makes no lock name is a bad request', async () => {
  const { get } = await startLockApp({ controllers: [Reports] });
  expect((await get('/named/7')).status).toBe(200);
  expect(await get(`/named/${'x'.repeat(1_100)}`)).toMatchObject({
    status: 400,
    body: { code: 'LOCK_NAME' },
  });
});

describe('A lock that is held, in HTTP', () => {
  it.each(['/decorated', '/programmatic', '/both'])(
    'answers 423 without naming the holder: %s',
    async (path) => {
      const { get, rival } = await startLockApp({ controllers: [Reports] });
      await rival.acquire('report');
      expect(await get(path)).toEqual(busy());
    },
  );

  it('answers the status that @UseLock asks for', async () => {
    const { get, rival } = await startLockApp({ controllers: [Reports] });
    await rival.acquire('report');
    expect(await get('/conflict')).toEqual(busy(409, 'Conflict'));
  });

  it('answers the status of a provider’s @UseLock that a handler called', async () => {
    @Injectable()
    class Builder {
      @UseLock('report', { status: 503 })
      build() {}
    }
    @Controller()
    class Calls {
      constructor(@Inject(Builder) private readonly builder: Builder) {}

      @Get()
      call() {
        return this.builder.build();
      }
    }
    const { get, rival } = await startLockApp({ controllers: [Calls], providers: [Builder] });
    await rival.acquire('report');
    expect(await get('/')).toEqual(busy(503, 'Service Unavailable'));
  });

  it('is an HttpException with the lock’s error as its cause for the application’s own interceptors', async () => {
    const { get, rival } = await startLockApp({
      controllers: [Reports],
      prepare: (app) => app.useGlobalInterceptors(outside),
    });
    await rival.acquire('report');
    expect(await get('/decorated')).toEqual(busy());
    expect(seen).toBeInstanceOf(HttpException);
    expect((seen as HttpException).cause).toBeInstanceOf(LockTimeoutError);
  });

  it('stays what it is when it comes from the handler', async () => {
    const { get, rival } = await startLockApp({
      controllers: [Reports],
      prepare: (app) => app.useGlobalInterceptors(outside),
    });
    await rival.acquire('report');
    expect(await get('/both')).toEqual(busy());
    expect(seen).toBeInstanceOf(LockTimeoutError);
  });
});

describe('Trouble with locks, in HTTP', () => {
  it.each([
    ['storage trouble', new LockStorageError('ECONNREFUSED 10.0.0.7', 'transient'), 503],
    ['a shutdown', new LockShutdownError('report'), 503],
    ['a lost lock', new LockLostError('report', 'taken'), 500],
  ])('answers %s without telling where the database is', async (_, failure, status) => {
    const fail = () => Promise.reject(failure);
    const { get } = await startLockApp({ controllers: [Reports], service: { run: fail, acquire: fail } });
    for (const path of ['/decorated', '/programmatic']) {
      const answer = await get(path);
      expect(answer.status).toBe(status);
      expect(JSON.stringify(answer.body)).not.toMatch(/10\.0\.0\.7|taken/);
    }
  });
});

describe('A filter of the application', () => {
  abstract class Recorder implements ExceptionFilter {
    catch(error: unknown, host: ArgumentsHost): void {
      seen = error;
      const status = error instanceof HttpException ? error.getStatus() : 500;
      host.switchToHttp().getResponse().status(status).json({ filter: this.constructor.name });
    }
  }
  @Catch()
  class CatchAll extends Recorder {}
  @Catch(HttpException)
  class CatchHttp extends Recorder {}
  @Catch(LockTimeoutError)
  class CatchTimeout extends Recorder {}
  @Catch(LockError)
  class CatchLock extends Recorder {}

  const places: Record<string, (filter: Type<Recorder>) => Parameters<typeof startLockApp>[0]> = {
    'APP_FILTER of the root module': (filter) => ({
      controllers: [Reports],
      providers: [{ provide: APP_FILTER, useClass: filter }],
    }),
    'APP_FILTER of an imported module': (filter) => {
      @Module({ providers: [{ provide: APP_FILTER, useClass: filter }] })
      class Filters {
        readonly name = 'filters';
      }
      return { controllers: [Reports], imports: [Filters] };
    },
    'APP_FILTER in request scope': (filter) => ({
      controllers: [Reports],
      providers: [{ provide: APP_FILTER, useClass: filter, scope: Scope.REQUEST }],
    }),
    useGlobalFilters: (filter) => ({
      controllers: [Reports],
      prepare: (app: INestApplication) => app.useGlobalFilters(new filter()),
    }),
    'the controller': (filter) => {
      @UseFilters(filter)
      @Controller()
      class Filtered extends Reports {}
      return { controllers: [Filtered] };
    },
    'the handler': (filter) => {
      @Controller()
      class Filtered extends Reports {
        @Get('decorated')
        @UseFilters(filter)
        @UseLock('report')
        override decorated() {
          return 'done';
        }

        @Get('programmatic')
        @UseFilters(filter)
        override programmatic() {
          return super.programmatic();
        }
      }
      return { controllers: [Filtered] };
    },
  };

  describe.each(Object.keys(places))('by %s', (place) => {
    const start = async (filter: Type<Recorder>) => {
      const app = await startLockApp(places[place]!(filter));
      await app.rival.acquire('report');
      return app;
    };

    it.each([CatchTimeout, CatchLock])('that names the lock’s error gets it: %o', async (filter) => {
      const { get } = await start(filter);
      for (const path of ['/decorated', '/programmatic']) {
        seen = undefined;
        expect(await get(path)).toEqual({ status: 500, body: { filter: filter.name } });
        expect(seen).toBeInstanceOf(LockTimeoutError);
      }
    });

    it('that catches everything gets an HttpException from @UseLock, and the error itself from a handler', async () => {
      const { get } = await start(CatchAll);
      expect(await get('/decorated')).toEqual({ status: 423, body: { filter: 'CatchAll' } });
      expect(seen).toMatchObject({ cause: expect.any(LockTimeoutError) });
      expect(await get('/programmatic')).toEqual({ status: 500, body: { filter: 'CatchAll' } });
      expect(toHttpException(seen as LockError)).toMatchObject({ status: 423 });
    });

    it('that catches HttpException forms the answer of @UseLock, and leaves the handler’s to the library', async () => {
      const { get } = await start(CatchHttp);
      expect(await get('/decorated')).toEqual({ status: 423, body: { filter: 'CatchHttp' } });
      expect(await get('/programmatic')).toEqual(busy());
    });
  });
});
