import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockModule, LockService } from '../../lib/index.js';

/** An application that holds two locks and waits to be told to end. */
const [, , connection, table, hooks] = process.argv;

@Module({ imports: [LockModule.forRoot({ connection: connection!, table: table!, reaper: false })] })
class App {
  readonly name = 'app';
}

const app = await NestFactory.createApplicationContext(App);
if (hooks) app.enableShutdownHooks();
const locks = app.get(LockService);
await locks.acquire('k1');
await locks.acquire('k2');
process.send!('ready');
