import { composeLocks, type LockRuntime } from '../../lib/nest/compose.js';
import type { LockModuleOptions } from '../../lib/nest/lock-module.options.js';
import { LockError, LockLostError, LockStorageError } from '../../lib/shared/errors.js';
import type { AcquireOptions, HeldLock } from '../../lib/shared/types.js';
import { Oracle } from './oracle.js';

/** Many guarded sections under locks of several names. */
export interface Contention {
  readonly folder: string;
  readonly names: readonly string[];
  readonly rounds: number;
  readonly options: AcquireOptions;
  /** Trouble with the database, and a lock that was lost to it, are no reason to stop: the next round goes on. */
  readonly patient?: boolean;
}

export interface Question {
  readonly id: number;
  readonly verb: Verb;
  readonly args: unknown[];
}

export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: { message: string; name: string; code?: string };
}

export type Verb = keyof typeof verbs;

let runtime: LockRuntime | undefined;
const held = new Map<string, HeldLock>();
const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };

const verbs = {
  open: async (options: LockModuleOptions) => {
    await runtime?.close();
    runtime = composeLocks(options, quiet);
  },
  tryAcquire: async (name: string, options: AcquireOptions) =>
    keep(await runtime!.locks.tryAcquire(name, options)),
  acquire: async (name: string, options: AcquireOptions) => keep(await runtime!.locks.acquire(name, options)),
  release: (name: string) => held.get(name)!.release(),
  state: (name: string) => {
    const { held: isHeld, signal } = held.get(name)!;
    return { held: isHeld, lost: signal.aborted ? (signal.reason as { reason: string }).reason : null };
  },
  contend: async ({ folder, names, rounds, options, patient = false }: Contention) => {
    const oracle = new Oracle(folder);
    const inTurn = async (name: string) => {
      for (let round = 0; round < rounds; round++) {
        try {
          await runtime!.locks.run(name, options, (lock) => oracle.section(lock));
        } catch (error) {
          if (!patient || !(error instanceof LockStorageError || error instanceof LockLostError)) throw error;
        }
      }
    };
    await Promise.all(names.map(inTurn));
  },
  close: async () => await runtime?.close(),
};

function keep(lock: HeldLock | null): number | null {
  if (lock) held.set(lock.name, lock);
  return lock?.fencingToken ?? null;
}

async function answer({ id, verb, args }: Question): Promise<Answer> {
  try {
    const value = await (verbs[verb] as (...args: unknown[]) => unknown)(...args);
    return { id, value };
  } catch (error) {
    const { message, name } = error as Error;
    return { id, error: { message, name, ...(error instanceof LockError && { code: error.code }) } };
  }
}

process.on('message', (question: Question) => {
  void answer(question).then((reply) => process.send!(reply));
});
process.on('disconnect', () => process.exit());
process.send!('ready');
