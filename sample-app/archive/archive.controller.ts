import { Controller, Get, HttpCode, Inject, Param, Post, Query } from '@nestjs/common';
import { CurrentLock, UseLock, type HeldLock } from 'nestjs-interlock';
import { ArchiveService, type Archived, type SiteReport } from './archive.service.js';
import { KnownSite } from './known-site.pipe.js';

@Controller('sites')
export class ArchiveController {
  constructor(@Inject(ArchiveService) private readonly archives: ArchiveService) {}

  @Get()
  sites(): string[] {
    return this.archives.sites;
  }

  /** One at a time for each site, in all processes together. The others wait a while; then they get 423. */
  @Post(':site/archive')
  @HttpCode(200)
  @UseLock('site:{site}', { wait: '4s', label: 'archive' })
  archive(
    @Param('site', KnownSite) site: string,
    @Query('fresh') fresh: string | undefined,
    @CurrentLock() lock: HeldLock,
  ): Promise<Archived> {
    return this.archives.archive(site, fresh !== undefined, lock);
  }

  @Get(':site/report')
  report(@Param('site', KnownSite) site: string): SiteReport {
    return this.archives.report(site);
  }
}
