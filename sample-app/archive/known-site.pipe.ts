import { Inject, Injectable, NotFoundException, type PipeTransform } from '@nestjs/common';
import { ArchiveService } from './archive.service.js';

/** Answers 404 for a site that is none. Pipes run before `@UseLock`: nobody waits for the lock of such a site. */
@Injectable()
export class KnownSite implements PipeTransform<string, string> {
  constructor(@Inject(ArchiveService) private readonly archives: ArchiveService) {}

  transform(site: string): string {
    const { sites } = this.archives;
    if (!sites.includes(site)) {
      throw new NotFoundException(`There is no site '${site}'; there are ${sites.join(', ')}.`);
    }
    return site;
  }
}
