import { describe } from 'vitest';
import { serversUnderTest } from './servers.js';

/** One server and one engine. */
export interface Cell {
  readonly flavor: string;
  readonly engine: 'memory' | 'innodb';
  /** Of the server, without a database. */
  readonly url: string;
}

/** Every server of this run with every engine: what holds for one must hold for all. */
export function cells(): Cell[] {
  return serversUnderTest().flatMap(({ flavor, url }) => [
    { flavor, url, engine: 'memory' as const },
    { flavor, url, engine: 'innodb' as const },
  ]);
}

/** A suite that runs once for each cell. */
export function describeEachCell(title: string, suite: (cell: Cell) => void): void {
  describe.each(cells())(`${title} ($flavor, $engine)`, suite);
}
