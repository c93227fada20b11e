import { Module } from '@nestjs/common';
import { LockModule } from 'nestjs-interlock';
import { ArchiveController } from './archive/archive.controller.js';
import { ArchiveService } from './archive/archive.service.js';
import { LocksController } from './locks.controller.js';
import { settings } from './settings.js';
import { StormController } from './storm/storm.controller.js';

@Module({
  imports: [LockModule.forRootAsync({ useFactory: () => ({ connection: settings().databaseUrl }) })],
  controllers: [ArchiveController, LocksController, StormController],
  providers: [ArchiveService],
})
export class AppModule {}
