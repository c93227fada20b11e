import { LockStorageError } from '../shared/errors.js';
import type { ServerFacts } from './server-facts.js';

/** An engine to try, and the one to try when it is refused. */
export interface EngineChoice {
  readonly engine: string;
  readonly next?: EngineChoice;
}

const INNODB: EngineChoice = { engine: 'InnoDB' };

/**
 * `'auto'` is MEMORY where it is really available: never in a cluster (Group Replication refuses its rows, Galera does
 * not replicate them), and only where its writes can stay out of the binary log. Else InnoDB. An explicit engine is
 * obeyed.
 */
export function chooseEngine(engine: string, facts: ServerFacts): EngineChoice {
  const wanted = engine.toLowerCase();
  if (wanted === 'memory') return { engine: 'MEMORY' };
  if (wanted === 'innodb') return INNODB;
  if (wanted !== 'auto') return { engine };
  const isLogged = facts.logsWrites && !facts.canBeQuiet;
  return facts.cluster || isLogged ? INNODB : { engine: 'MEMORY', next: INNODB };
}

/** What to try after the server refused an engine; undefined when the refusal is final, or is about something else. */
export function engineFallback(choice: EngineChoice, error: unknown): EngineChoice | undefined {
  const isRefused = error instanceof LockStorageError && ENGINE_REFUSED.has(errnoOf(error) ?? 0);
  return isRefused ? choice.next : undefined;
}

const ENGINE_REFUSED = new Set([
  1286, // unknown storage engine
  1290, // enforce_storage_engine (MariaDB); also read-only, where the next engine is refused just so
  3098, // Group Replication: the table cannot be written
  3161, // disabled_storage_engines (MySQL)
  4165, // Galera's STRICT_REPLICATION
]);

function errnoOf(error: LockStorageError): number | undefined {
  return (error.cause as { errno?: number } | undefined)?.errno;
}
