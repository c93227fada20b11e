import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  HttpCode,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  Query,
  Res,
  UseGuards,
} from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { CurrentLock, type HeldLock, InjectLock, LockService, UseLock } from '../../lib/index.js';
import { startLockApp } from './lock-app.js';

describe('@UseLock on a route', () => {
  it('holds the lock while the handler runs, and frees it before the answer is there', async () => {
    @Controller()
    class Reports {
      constructor(@InjectLock() private readonly locks: LockService) {}

      @Get('build')
      @UseLock('report')
      async build() {
        return (await this.locks.list()).map(({ name }) => name);
      }
    }
    const { get, rival } = await startLockApp({ controllers: [Reports] });
    expect(await get('/build')).toEqual({ status: 200, body: ['report'] });
    expect(await rival.inspect('report')).toBeNull();
  });

  it('frees the lock when the handler fails, and answers with the handler’s own error', async () => {
    @Controller()
    class Reports {
      @Get('build')
      @UseLock('report')
      build(): never {
        throw new RangeError('no paper');
      }
    }
    const { get, rival } = await startLockApp({ controllers: [Reports] });
    expect((await get('/build')).status).toBe(500);
    expect(await rival.tryAcquire('report')).not.toBeNull();
  });

  it.each([
    ['the route', '/site/7/b%3Ac?site=9', 'site:7 b%3Ac'],
    ['the route, as the request had it before the pipes', '/int/007', 'int:007'],
    ['the value after the pipes, by position', '/position/007', 'position:7'],
    ['an argument’s property', '/dto?shop=3', 'shop:3'],
  ])('takes the values of the name from %s', async (_, path, name) => {
    @Controller()
    class Sites {
      @Get('site/:site/:page')
      @UseLock('site:{site} {page}')
      route(@CurrentLock() lock: HeldLock) {
        return { name: lock.name };
      }

      @Get('int/:id')
      @UseLock('int:{id}')
      int(@Param('id', ParseIntPipe) _id: number, @CurrentLock() lock: HeldLock) {
        return { name: lock.name };
      }

      @Get('position/:id')
      @UseLock('position:{0}')
      position(@Param('id', ParseIntPipe) _id: number, @CurrentLock() lock: HeldLock) {
        return { name: lock.name };
      }

      @Get('dto')
      @UseLock('shop:{shop}')
      dto(@Query() _query: { shop: string }, @CurrentLock() lock: HeldLock) {
        return { name: lock.name };
      }
    }
    const { get } = await startLockApp({ controllers: [Sites] });
    expect(await get(path)).toEqual({ status: 200, body: { name } });
  });

  it('takes the values from the body, also when the handler does not ask for it', async () => {
    @Controller()
    class Orders {
      @Post('order')
      @UseLock('order:{order}')
      order(@CurrentLock() lock: HeldLock) {
        return { name: lock.name };
      }
    }
    const { post } = await startLockApp({ controllers: [Orders] });
    expect(await post('/order', { order: 12 })).toEqual({ status: 201, body: { name: 'order:12' } });
    expect((await post('/order', { order: null })).status).toBe(400);
  });

  it('takes the name from a function of the handler’s arguments, with the instance as its this', async () => {
    @Controller()
    class Orders {
      readonly tenant = 'acme';

      @Post('order/:id')
      @UseLock(function (this: Orders, id: number, body: { line: string }) {
        return `${this.tenant}/${id}/${body.line}`;
      })
      order(
        @Param('id', ParseIntPipe) _id: number,
        @Body() _body: { line: string },
        @CurrentLock() lock: HeldLock,
      ) {
        return { name: lock.name };
      }
    }
    const { post } = await startLockApp({ controllers: [Orders] });
    expect(await post('/order/5', { line: 'x' })).toEqual({ status: 201, body: { name: 'acme/5/x' } });
  });

  it('does not ask for the lock when a guard or a pipe refuses', async () => {
    @Injectable()
    class Nobody implements CanActivate {
      canActivate(_context: ExecutionContext) {
        return false;
      }
    }
    let named = 0;
    const name = () => `count:${++named}`;
    @Controller()
    class Reports {
      @Get('guarded')
      @UseGuards(Nobody)
      @UseLock(name)
      guarded() {}

      @Get('piped/:id')
      @UseLock(name)
      piped(@Param('id', ParseIntPipe) _id: number) {}
    }
    const { get } = await startLockApp({ controllers: [Reports] });
    expect((await get('/guarded')).status).toBe(403);
    expect((await get('/piped/x')).status).toBe(400);
    expect(named).toBe(0);
    expect((await get('/piped/1')).status).toBe(200);
    expect(named).toBe(1);
  });

  it('keeps what other decorators say, above and below', async () => {
    @Controller('a')
    class Reports {
      @UseLock('above')
      @Post('above/:id')
      @HttpCode(202)
      above(@Param('id') id: string, @Query('q') q: string) {
        return { id, q };
      }

      @Post('below/:id')
      @HttpCode(202)
      @UseLock('below')
      below(@Param('id') id: string, @Query('q') q: string) {
        return { id, q };
      }
    }
    const { post } = await startLockApp({ controllers: [Reports] });
    for (const path of ['above', 'below']) {
      expect(await post(`/a/${path}/1?q=2`)).toEqual({ status: 202, body: { id: '1', q: '2' } });
    }
  });

  it('works with a handler that answers by itself', async () => {
    @Controller()
    class Reports {
      @Get('own')
      @UseLock('own')
      own(
        @Res() response: { status(code: number): { json(body: unknown): void } },
        @CurrentLock() lock: HeldLock,
      ) {
        response.status(207).json({ held: lock.held });
      }
    }
    const { get, rival } = await startLockApp({ controllers: [Reports] });
    expect(await get('/own')).toEqual({ status: 207, body: { held: true } });
    expect(await rival.tryAcquire('own')).not.toBeNull();
  });

  it('nests several locks, the upper one outside, and gives the handler the inner one', async () => {
    @Controller()
    class Reports {
      constructor(@InjectLock() private readonly locks: LockService) {}

      @Get(':name')
      @UseLock('outer:{name}')
      @UseLock('inner:{name}')
      async both(@Param('name') _name: string, @CurrentLock() lock: HeldLock) {
        const held = await this.locks.list();
        return { held: held.map(({ name }) => name).sort(), current: lock.name };
      }
    }
    const { get, rival } = await startLockApp({ controllers: [Reports] });
    const held = ['inner:x', 'outer:x'];
    expect(await get('/x')).toEqual({ status: 200, body: { held, current: 'inner:x' } });
    const outer = await rival.acquire('outer:x');
    const inner = await rival.acquire('inner:x');
    expect((await get('/x')).body).toMatchObject({ message: expect.stringContaining('outer:x') });
    await outer.release();
    expect((await get('/x')).body).toMatchObject({ message: expect.stringContaining('inner:x') });
    await inner.release();
    expect((await get('/x')).status).toBe(200);
  });
});

describe('@UseLock on a controller class', () => {
  class Base {
    @Get('inherited/:id')
    inherited(@Param('id') id: string) {
      return { id };
    }

    helper() {
      return 'free';
    }
  }

  @UseLock('class:{id}')
  @Controller()
  class Reports extends Base {
    @Get('own/:id')
    @UseLock('method:{id}')
    own(@Param('id') id: string) {
      return { id, helped: this.helper() };
    }
  }

  it('locks every route, inherited ones too, and nothing else', async () => {
    const { get, rival } = await startLockApp({ controllers: [Reports] });
    expect(await get('/own/1')).toEqual({ status: 200, body: { id: '1', helped: 'free' } });
    expect(await get('/inherited/1')).toEqual({ status: 200, body: { id: '1' } });
    await rival.acquire('class:1');
    expect((await get('/own/1')).status).toBe(423);
    expect((await get('/inherited/1')).status).toBe(423);
    expect((await get('/own/2')).status).toBe(200);
  });

  it('leaves the base class as it is', async () => {
    @Controller('other')
    class Other extends Base {}
    const { get, rival } = await startLockApp({ controllers: [Reports, Other] });
    await rival.acquire('class:1');
    expect((await get('/other/inherited/1')).status).toBe(200);
  });
});
