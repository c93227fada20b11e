import type { OwnerIdentity } from '../shared/owner.js';
import type { Liveness } from '../shared/types.js';
import type { Host } from './host.js';
import { codeOf } from './system.js';
import { thisHost } from './this-host.js';

const LARGEST_ID = 2 ** 31 - 1;
/** What a start looks like: Linux' ticks, or the date that macOS' `ps` writes. Anything else in a row is no evidence. */
const STARTED = /^(?:\d{1,20}|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})$/;

/**
 * What can be proved about an owner that a row names. `'dead'` is a proof; whatever is in doubt is held.
 *
 * Dead is who has this host's key and either no longer exists (kill(2) answers ESRCH, which neither hidepid nor missing
 * permissions can cause), or ended and was not reaped, or is not the task that has those ids now, which started at
 * another time. That last rule also holds for our own pid: every container's first process is 1.
 *
 * Cheap on Linux: a foreign owner costs well under a microsecond, a gone one some 15, a living one some 30; on macOS a
 * living one costs a run of `ps`.
 * @throws only when this is the first call and {@link thisHost} throws
 */
export function probe(owner: OwnerIdentity, host: Host = thisHost()): Liveness {
  if (!host.certain || !host.key.equals(owner.hostKey)) return 'unknown';
  // 0 and negative numbers would name whole groups of processes.
  if (!isId(owner.pid) || !isId(owner.thread)) return 'unknown';
  const answer = signalAnswer(host, owner.thread);
  if (answer === 'ESRCH' || isProvedGone(host, owner)) return 'dead';
  return answer === '' || answer === 'EPERM' ? 'alive' : 'unknown';
}

function isId(value: number): boolean {
  return Number.isInteger(value) && value > 0 && value <= LARGEST_ID;
}

/** `''`: it exists. EPERM: it exists and is another user's. */
function signalAnswer(host: Host, id: number): string {
  try {
    host.signal(id);
    return '';
  } catch (error) {
    return codeOf(error) || 'UNKNOWN';
  }
}

function isProvedGone(host: Host, owner: OwnerIdentity): boolean {
  const seen = host.observe(owner);
  if (!seen) return false;
  return seen.ended || (isStart(seen.started) && isStart(owner.started) && seen.started !== owner.started);
}

function isStart(started: string): boolean {
  return STARTED.test(started);
}
