import { Controller, Get, Inject } from '@nestjs/common';
import { LockService, type LockInfo, type Liveness } from 'nestjs-interlock';

/** A lock for people. */
export interface ShownLock {
  readonly name: string;
  readonly pid: number;
  readonly host: string;
  readonly alive: Liveness;
  readonly label: string;
  readonly since: Date;
  readonly leaseEndsInMs: number | null;
  readonly fencingToken: number;
}

@Controller('locks')
export class LocksController {
  constructor(@Inject(LockService) private readonly locks: LockService) {}

  @Get()
  async list(): Promise<ShownLock[]> {
    return (await this.locks.list()).map(shown);
  }
}

function shown({ name, host, pid, alive, label, acquiredAt, expiresAt, fencingToken }: LockInfo): ShownLock {
  const leaseEndsInMs = expiresAt && expiresAt.getTime() - Date.now();
  return {
    name,
    ...{ pid, host, alive, label },
    since: acquiredAt,
    leaseEndsInMs,
    fencingToken,
  };
}
