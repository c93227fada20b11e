import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** The part of a lock that a guarded section looks at. */
interface Granted {
  readonly name: string;
  readonly fencingToken: number;
}

/**
 * Watches guarded sections independently of the lock: each appends its entering and leaving to a log that all processes
 * share, and reads-modifies-writes a counter that nothing else protects.
 */
export class Oracle {
  readonly #folder: string;

  constructor(folder = mkdtempSync(join(tmpdir(), 'oracle-'))) {
    this.#folder = folder;
  }

  /** For the oracle of another process. */
  get folder(): string {
    return this.#folder;
  }

  /** One guarded section. Gives others a chance to break in between. */
  async section(lock: Granted): Promise<void> {
    this.#append(lock, 'enter');
    const count = this.count(lock.name);
    await yieldToOthers();
    writeFileSync(this.#counter(lock.name), String(count + 1));
    this.#append(lock, 'leave');
  }

  /** What the unguarded counter of a name says. */
  count(name: string): number {
    const file = this.#counter(name);
    return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  }

  /** What the log says: every fault it shows, in words; none is a pass. */
  faults(): string[] {
    const inside = new Map<string, string>();
    const last = new Map<string, number>();
    return this.#lines().flatMap((line) => {
      const [name, fencing, pid, event] = line.split('\t') as [string, string, string, string];
      const who = `${pid}/${fencing}`;
      if (event === 'leave') return this.#leave(inside, name, who);
      const faults = inside.has(name) ? [`${name}: ${who} entered while ${inside.get(name)} was inside`] : [];
      if (Number(fencing) <= (last.get(name) ?? 0))
        faults.push(`${name}: fencing ${fencing} after ${last.get(name)}`);
      inside.set(name, who);
      last.set(name, Number(fencing));
      return faults;
    });
  }

  /** How many sections of a name were entered. */
  entered(name?: string): number {
    return this.#lines().filter((line) => line.endsWith('\tenter') && (!name || line.startsWith(`${name}\t`)))
      .length;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #leave(inside: Map<string, string>, name: string, who: string): string[] {
    const holder = inside.get(name);
    inside.delete(name);
    return holder === who ? [] : [`${name}: ${who} left while ${holder ?? 'nobody'} was inside`];
  }

  #append({ name, fencingToken }: Granted, event: string): void {
    appendFileSync(this.#log, `${name}\t${fencingToken}\t${process.pid}\t${event}\n`);
  }

  #lines(): string[] {
    return existsSync(this.#log) ? readFileSync(this.#log, 'utf8').split('\n').filter(Boolean) : [];
  }

  get #log(): string {
    return join(this.#folder, 'log');
  }

  #counter(name: string): string {
    return join(this.#folder, `count-${Buffer.from(name).toString('hex')}`);
  }
}
