import 'reflect-metadata';
import { Controller, Get, Inject, Param, SetMetadata, UseInterceptors } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import {
  CurrentLock,
  type HeldLock,
  LockConfigError,
  LockInterceptor,
  LockNameError,
  LockService,
  UseLock,
} from '../../lib/index.js';

/** A decorator's target as a plain object, for what TypeScript would not let us write. */
const decorate = (key: string, options: object, target: object, descriptor?: PropertyDescriptor) =>
  (UseLock(key, options) as (...args: unknown[]) => void)(target, 'method', descriptor);

const methodOf = ({ prototype }: { prototype: object }, name: string) =>
  Reflect.get(prototype, name) as (...args: unknown[]) => unknown;

class Plain {
  build() {}
}
const nothing = () => undefined;
const method = () => ({ value: nothing });

describe('A method under @UseLock', () => {
  it('keeps its name, its length and all metadata, whatever stands above and below', () => {
    const key = Symbol('symbols are keys too');
    class Reports {
      @SetMetadata('above', 1)
      @UseLock('report')
      @SetMetadata('below', 2)
      @SetMetadata(key as never, 3)
      build(_id: string, _page: number, _rest = 0) {}
    }
    const build = methodOf(Reports, 'build');
    expect(build.name).toBe('build');
    expect(build.length).toBe(2);
    expect(Reflect.getMetadata('above', build)).toBe(1);
    expect(Reflect.getMetadata('below', build)).toBe(2);
    expect(Reflect.getMetadata(key, build)).toBe(3);
    expect(Object.getOwnPropertyDescriptor(Reports.prototype, 'build')).toMatchObject({
      enumerable: false,
      configurable: true,
      writable: true,
    });
  });

  it('does not change the metadata of the method that it wraps', () => {
    const descriptor = method();
    decorate('report', {}, Plain.prototype, descriptor);
    expect(descriptor.value).not.toBe(nothing);
    expect(Reflect.getOwnMetadataKeys(nothing)).toEqual([]);
  });

  it('brings the interceptor along once, beside those of the user', () => {
    class Mine {
      intercept(_: unknown, next: { handle(): never }) {
        return next.handle();
      }
    }
    class Reports {
      @UseLock('outer')
      @UseInterceptors(Mine)
      @UseLock('inner')
      build() {}
    }
    expect(Reflect.getMetadata('__interceptors__', methodOf(Reports, 'build'))).toEqual([
      LockInterceptor,
      Mine,
    ]);
  });

  it('injects its lock services, and leaves the user’s own injections alone', () => {
    class Reports {
      @Inject('CLOCK') clock!: unknown;

      @UseLock('a')
      @UseLock('b', { instance: 'other' })
      build() {}

      @UseLock('c')
      send() {}
    }
    const injected = Reflect.getMetadata('self:properties_metadata', Reports) as { type: unknown }[];
    const types = new Set(injected.map(({ type }) => type));
    expect([...types]).toEqual(['CLOCK', 'LockService:other', LockService]);
  });

  it('leaves the parameters of a route as they are', () => {
    class Reports {
      @Get(':id')
      @UseLock('report')
      build(@Param('id') _id: string, @CurrentLock() _lock: HeldLock) {}
    }
    const routeArguments = Reflect.getMetadata('__routeArguments__', Reports, 'build') as object;
    expect(Object.values(routeArguments)).toMatchObject([{ index: 0, data: 'id' }]);
  });
});

describe('@UseLock refuses, where it is written,', () => {
  it.each([
    ['a static method', () => decorate('a', {}, Plain, method())],
    ['an accessor', () => decorate('a', {}, {}, { get: () => () => undefined })],
    ['a property', () => decorate('a', {}, {})],
    ['a class without route handlers', () => UseLock('a')(Plain)],
    ['an unknown onBusy', () => decorate('a', { onBusy: 'wait' }, {}, method())],
    ['an unknown holdUntil', () => decorate('a', { holdUntil: 'tomorrow' }, {}, method())],
    ['an unknown status', () => decorate('a', { status: 200 }, {}, method())],
    ['a wait that is none', () => decorate('a', { wait: 'soon' }, {}, method())],
    ['a template that mixes up values', () => decorate('{a}{b}', {}, {}, method())],
  ])('%s', (_, write) => {
    expect(write).toThrow(LockConfigError);
  });

  it('a static name that is none', () => {
    expect(() => decorate('', {}, {}, method())).toThrow(LockNameError);
    expect(() => decorate('x'.repeat(1025), {}, {}, method())).toThrow(LockNameError);
  });

  it('@CurrentLock in a constructor', () => {
    expect(() => {
      @Controller()
      class Reports {
        constructor(@CurrentLock() readonly lock: HeldLock) {}
      }
      return Reports;
    }).toThrow(LockConfigError);
  });
});
