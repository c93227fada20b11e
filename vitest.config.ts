import { defineConfig } from 'vitest/config';

/** Suites that need no database server. */
const withoutServer = ['unit', 'process'];
/** Suites that run against real servers, which the global set-up finds, installs and starts. */
const withServer = ['store', 'core', 'nest', 'sample', 'package'];

export default defineConfig({
  resolve: { alias: { 'nestjs-interlock': new URL('./lib/index.ts', import.meta.url).pathname } },
  oxc: { decorator: { legacy: true, emitDecoratorMetadata: false } },
  test: {
    pool: 'forks',
    reporters: ['default', './test/support/closing-line.reporter.ts'],
    testTimeout: 60_000,
    hookTimeout: 180_000,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: withoutServer.map((suite) => `test/${suite}/**/*.test.ts`) },
      },
      {
        extends: true,
        test: {
          name: 'database',
          include: withServer.map((suite) => `test/${suite}/**/*.test.ts`),
          globalSetup: 'test/support/servers.global.ts',
        },
      },
    ],
  },
});
