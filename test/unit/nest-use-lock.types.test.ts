import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { CurrentLock, type HeldLock, type LockTimeoutError, UseLock } from '../../lib/index.js';

interface Order {
  id: number;
}

/** Every line that must not compile is marked; the compiler fails on a mark without an error. */
class Typed {
  @UseLock('static')
  nothing() {}

  @UseLock((id: string) => `report:${id}`)
  same(_id: string) {}

  @UseLock((id: string) => `report:${id}`)
  fewer(_id: string, _page: number, @CurrentLock() _lock?: HeldLock) {}

  @UseLock((id: string | number) => `report:${id}`)
  wider(_id: string) {}

  @UseLock(({ id }: Order) => `order:${id}`, { wait: '2s', scope: 'local' })
  object(_order: Order & { line: string }): Promise<void> {
    return Promise.resolve();
  }

  @UseLock('order:{id}', { onBusy: (error: LockTimeoutError, order: Order) => [error.lockName, order.id] })
  busy(_order: Order) {}
}

/** Never run: some of it is refused at run time too. */
export const mistakes = () =>
  class {
    // @ts-expect-error the method gives a number
    @UseLock((id: string) => `report:${id}`)
    otherType(_id: number) {}

    // @ts-expect-error the method does not have a second argument
    @UseLock((id: string, page: number) => `report:${id}:${page}`)
    tooFew(_id: string) {}

    // @ts-expect-error the method may leave the argument out
    @UseLock((id: string) => `report:${id}`)
    optional(_id?: string) {}

    // @ts-expect-error the method gives a string
    @UseLock('order:{id}', { onBusy: (_: LockTimeoutError, order: Order) => order.id })
    otherBusy(_id: string) {}

    // @ts-expect-error a name is a string
    @UseLock((id: number) => id)
    otherName(_id: number) {}

    // @ts-expect-error no such choice
    @UseLock('static', { onBusy: 'wait' })
    otherChoice() {}

    // @ts-expect-error no such unit
    @UseLock('static', { wait: '2 days' })
    otherUnit() {}
  };

@UseLock('class:{id}')
@Controller()
class TypedController {
  @Get(':id')
  handler() {}
}

describe('The types of @UseLock', () => {
  it('compare the name’s arguments with the method’s', () => {
    expect([Typed, TypedController]).toHaveLength(2);
  });
});
