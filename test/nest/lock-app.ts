import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { onTestFinished } from 'vitest';
import { LockModule, type LockModuleOptions, LockService } from '../../lib/index.js';
import { LOCK_RUNTIME } from '../../lib/nest/lock.tokens.js';
import { FakeRuntime } from '../support/fake-runtime.js';

/** A listening application with a LockModule, and a second lock service on the same table. */
export interface LockApp {
  readonly app: INestApplication;
  readonly locks: LockService;
  /** Somebody else: what it holds is busy for the application. */
  readonly rival: LockService;
  readonly runtime: FakeRuntime;
  readonly get: (path: string, init?: RequestInit) => Promise<Answer>;
  readonly post: (path: string, body?: unknown) => Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface Setup extends ModuleMetadata {
  options?: Partial<LockModuleOptions>;
  /** The last word before the application starts, like `useGlobalFilters`. */
  prepare?: (app: INestApplication) => void;
}

export async function startLockApp({ options, prepare, imports = [], ...metadata }: Setup): Promise<LockApp> {
  const runtime = new FakeRuntime();
  const module = LockModule.forRoot({ connection: 'mysql://unused', wait: 0, isGlobal: true, ...options });
  const builder = Test.createTestingModule({ imports: [module, ...imports], ...metadata });
  const app = (
    await builder.overrideProvider(LOCK_RUNTIME).useValue(runtime).compile()
  ).createNestApplication();
  app.useLogger(false);
  prepare?.(app);
  await app.listen(0, '127.0.0.1');
  onTestFinished(() => app.close());
  const url = await app.getUrl();
  return {
    app,
    runtime,
    locks: app.get(LockService),
    rival: new LockService(runtime),
    get: (path, init) => ask(url + path, init),
    post: (path, body) =>
      ask(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body ?? {}),
      }),
  };
}

async function ask(url: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  const json = response.headers.get('content-type')?.includes('json');
  return { status: response.status, body: json ? JSON.parse(text) : text };
}
