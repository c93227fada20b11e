import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { LockModule, type LockModuleOptions, LockService } from '../../lib/index.js';
import { freshDatabase, serversUnderTest } from '../support/servers.js';

/** A listening application with a LockModule, and a second lock service on the same table. */
export interface LockApp {
  readonly app: INestApplication;
  readonly locks: LockService;
  /** Somebody else: what it holds is busy for the application. */
  readonly rival: LockService;
  readonly get: (path: string) => Promise<Answer>;
  readonly post: (path: string, body?: unknown) => Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface Setup extends ModuleMetadata {
  options?: Partial<LockModuleOptions>;
  /** Stands in for the application's lock service. */
  service?: Partial<LockService>;
  /** The last word before the application starts, like `useGlobalFilters`. */
  prepare?: (app: INestApplication) => void;
}

/** The connection of the running test file's own database on a server of this run; on the first one by default. */
export function connection(flavor = serversUnderTest()[0]!.flavor): string {
  return databases.get(flavor)!.url;
}

const databases = new Map<string, Awaited<ReturnType<typeof freshDatabase>>>();
beforeAll(async () => {
  for (const { flavor, url } of serversUnderTest()) databases.set(flavor, await freshDatabase(url));
});
afterAll(() => Promise.all([...databases.values()].map((database) => database.drop())));

export async function startLockApp({
  options,
  service,
  prepare,
  imports = [],
  ...rest
}: Setup): Promise<LockApp> {
  const settings = { connection: connection(), wait: 0, ...options };
  const rival = await startRival(settings);
  const builder = Test.createTestingModule({
    imports: [LockModule.forRoot({ ...settings, isGlobal: true }), ...imports],
    ...rest,
  });
  if (service) builder.overrideProvider(LockService).useValue(service);
  const app = (await builder.compile()).createNestApplication();
  app.useLogger(false);
  prepare?.(app);
  await app.listen(0, '127.0.0.1');
  onTestFinished(() => app.close());
  const url = await app.getUrl();
  return {
    app,
    locks: app.get(LockService),
    rival,
    get: (path) => ask(url + path),
    post: (path, body) => ask(url + path, body ?? {}),
  };
}

/** A lock service of an application of its own. */
export async function startRival(options?: Partial<LockModuleOptions>): Promise<LockService> {
  const settings = { connection: connection(), wait: 0, ...options };
  const module = await Test.createTestingModule({ imports: [LockModule.forRoot(settings)] }).compile();
  onTestFinished(() => module.close());
  return module.get(LockService);
}

async function ask(url: string, body?: unknown): Promise<Answer> {
  const post = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const response = await fetch(url, body === undefined ? {} : post);
  const text = await response.text();
  const json = response.headers.get('content-type')?.includes('json');
  return { status: response.status, body: json ? JSON.parse(text) : text };
}
