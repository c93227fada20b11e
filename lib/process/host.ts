import { createHash } from 'node:crypto';
import type { OwnerIdentity } from '../shared/owner.js';

/** A machine between two boots, or one PID namespace on it: the room in which an id means one process. */
export interface Host {
  /** See {@link OwnerIdentity.hostKey}. */
  readonly key: Buffer;
  /** Whether equal keys prove the same room. If not, nobody's death can be proved here. */
  readonly certain: boolean;
  /** This thread; the whole process where threads cannot be told apart. */
  self(): Pick<OwnerIdentity, 'pid' | 'thread' | 'started'>;
  /** Signal 0; see kill(2). */
  readonly signal: (id: number) => void;
  /** What can be seen of a task that has this owner's ids now. Null where nothing can: that is no proof of anything. */
  observe(owner: OwnerIdentity): Observation | null;
}

/** A look at a running, or no longer running, task. */
export interface Observation {
  /** It runs no more, and waits only to be reaped. */
  readonly ended: boolean;
  /** As in {@link OwnerIdentity.started}; `''` where it cannot be told or not be compared. */
  readonly started: string;
}

const KEY_BYTES = 16;

/** A host key made of facts; the first names the kind of them, so that keys of two kinds are never equal. */
export function hostKeyOf(...facts: readonly string[]): Buffer {
  return createHash('sha256').update(facts.join('\0')).digest().subarray(0, KEY_BYTES);
}
