/** One of the processes that serve the sample. */
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';
import { settings } from './settings.js';

const app = await NestFactory.create<NestExpressApplication>(AppModule, {
  logger: ['warn', 'error'],
  forceCloseConnections: true,
});
// For people, who read it with curl.
app.set('json spaces', 2);
// So that Ctrl-C lets running archives finish, and frees the locks.
app.enableShutdownHooks();
try {
  await app.listen(settings().port, '127.0.0.1');
} catch (error) {
  // A port in use, no database: for people, the message says it all.
  console.error(`The sample cannot start. ${(error as Error).message}`);
  process.exit(1);
}
