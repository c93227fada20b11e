import { Controller, HttpCode, Inject, Post, Query } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { AddressInfo, Server } from 'node:net';
import { ArchiveService } from '../archive/archive.service.js';
import { storm, type SiteOutcome } from './storm.js';

const MOST = 200;

/** Starts many archives at once, over HTTP like anybody else: they land in all the processes. */
@Controller('storm')
export class StormController {
  constructor(
    @Inject(ArchiveService) private readonly archives: ArchiveService,
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost,
  ) {}

  @Post()
  @HttpCode(200)
  async start(@Query('archives') archives = '30'): Promise<SiteOutcome[]> {
    const { port } = (this.http.httpAdapter.getHttpServer() as Server).address() as AddressInfo;
    const wanted = Math.min(MOST, Math.max(1, Number(archives) || 1));
    return await storm(`http://127.0.0.1:${port}`, this.archives.sites, wanted);
  }
}
