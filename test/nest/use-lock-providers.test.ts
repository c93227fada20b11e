import { Controller, Get, Inject, Injectable, Param } from '@nestjs/common';
import { describe, expect, it, vi } from 'vitest';
import {
  CurrentLock,
  type HeldLock,
  LockConfigError,
  LockNameError,
  LockService,
  LockTimeoutError,
  UseLock,
} from '../../lib/index.js';
import { startLockApp } from './lock-app.js';

@Injectable()
class Builder {
  readonly built: string[] = [];

  constructor(@Inject(LockService) private readonly locks: LockService) {}

  @UseLock('build:{id}')
  async byProperty(_order: { id: number }) {
    return (await this.locks.list()).map(({ name }) => name);
  }

  @UseLock((id: string) => `build:${id}`)
  byFunction(id: string, @CurrentLock() lock?: HeldLock) {
    this.built.push(id);
    return Promise.resolve(lock);
  }

  @UseLock('build:{id}', { onBusy: 'skip' })
  skipping(order: { id: string }) {
    this.built.push(order.id);
    return Promise.resolve('built');
  }

  @UseLock('build:{id}', {
    onBusy(this: Builder, error: LockTimeoutError, order: { id: string }) {
      return [this.built.length, error.lockName, order.id];
    },
  })
  answering(_order: { id: string }): Promise<unknown> {
    throw new LockTimeoutError('of another lock', 0);
  }
}

const start = async () => {
  const started = await startLockApp({ providers: [Builder] });
  return { ...started, builder: started.app.get(Builder) };
};

describe('@UseLock on a provider’s method', () => {
  it('holds the lock while the method runs and gives its value', async () => {
    const { builder, rival } = await start();
    expect(await builder.byProperty({ id: 1 })).toEqual(['build:1']);
    expect(await rival.inspect('build:1')).toBeNull();
  });

  it('gives the lock to the parameter that asks for it, whatever the caller leaves out', async () => {
    const { builder } = await start();
    expect(await builder.byFunction('1')).toMatchObject({ name: 'build:1', scope: 'global' });
  });

  it('rejects while the lock is held elsewhere, and does not run the method', async () => {
    const { builder, rival } = await start();
    await rival.acquire('build:1');
    await expect(builder.byFunction('1')).rejects.toThrow(LockTimeoutError);
    expect(builder.built).toEqual([]);
  });

  it('skips, when it may, without running the method', async () => {
    const { builder, rival } = await start();
    const held = await rival.acquire('build:1');
    expect(await builder.skipping({ id: '1' })).toBeUndefined();
    expect(builder.built).toEqual([]);
    await held.release();
    expect(await builder.skipping({ id: '1' })).toBe('built');
  });

  it('asks a function what to answer, and only about its own lock', async () => {
    const { builder, rival } = await start();
    await expect(builder.answering({ id: '1' })).rejects.toThrow('of another lock');
    await rival.acquire('build:1');
    expect(await builder.answering({ id: '1' })).toEqual([0, 'build:1', '1']);
  });

  it('rejects a value that makes no name before it asks for a lock', async () => {
    const { builder, locks } = await start();
    const run = vi.spyOn(locks, 'run');
    await expect(builder.byProperty({} as { id: number })).rejects.toThrow(LockNameError);
    expect(run).not.toHaveBeenCalled();
  });

  it('takes its values from its own arguments, not from the route that called it', async () => {
    @Controller()
    class Calls {
      constructor(@Inject(Builder) private readonly builder: Builder) {}

      @Get(':id')
      @UseLock('route:{id}')
      async call(@Param('id') id: string) {
        return [...(await this.builder.byProperty({ id: 5 })), ...(await this.again({ id: `${id}0` }))];
      }

      @UseLock('route:{id}')
      again(_order: { id: string }, @CurrentLock() lock?: HeldLock) {
        return Promise.resolve([lock!.name]);
      }
    }
    const { get } = await startLockApp({ controllers: [Calls], providers: [Builder] });
    expect((await get('/7')).body).toEqual(['build:5', 'route:7', 'route:70']);
  });

  it('takes its values from its own arguments also when a route’s handler calls itself', async () => {
    @Controller()
    class Countdown {
      @Get(':n')
      @UseLock('count:{n}')
      async count(@Param() { n }: { n: number }, @CurrentLock() lock?: HeldLock): Promise<string[]> {
        return n > 0 ? [lock!.name, ...(await this.count({ n: n - 1 }))] : [lock!.name];
      }
    }
    const { get } = await startLockApp({ controllers: [Countdown] });
    expect((await get('/2')).body).toEqual(['count:2', 'count:1', 'count:0']);
  });

  it('says what is missing when Nest did not build the instance', async () => {
    const builder = new Builder(undefined as unknown as LockService);
    const error = await builder.byFunction('1').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LockConfigError);
    expect((error as Error).message).toMatch(
      /@UseLock on byFunction\(\) found no lock service: Nest did not build/,
    );
    const { byFunction } = builder as unknown as Record<string, (this: void, id: string) => Promise<unknown>>;
    await expect(byFunction!('1')).rejects.toThrow(LockConfigError);
  });

  it('works in a class that inherits the method', async () => {
    @Injectable()
    class Heir extends Builder {
      @UseLock('heir')
      override byProperty(order: { id: number }) {
        return super.byProperty(order);
      }
    }
    const { app } = await startLockApp({ providers: [Heir] });
    expect(await app.get(Heir).byProperty({ id: 1 })).toEqual(['build:1', 'heir']);
    expect(await app.get(Heir).skipping({ id: '1' })).toBe('built');
  });
});
