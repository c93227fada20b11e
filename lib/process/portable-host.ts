import { hostKeyOf, type Host, type Observation } from './host.js';
import { told, type System } from './system.js';

/** The state's letter, and the start in ctime(3)'s form; a zombie may have none. */
const PS_LINE = /^\s*([A-Z])\S*(?:\s+([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}))?/;

/**
 * macOS: the boot session's UUID is the key, since there are no PID namespaces; `ps` tells states and starts.
 * Null where the system does not tell the UUID. Where `ps` is missing, only kill(2)'s ESRCH proves a death.
 *
 * A lock belongs to the process as a whole: what a terminated worker thread held stays held until its process ends, or
 * until the lease does. `ps` blocks the thread for some milliseconds, tens on a busy machine, and is
 * asked only about ids that are in use.
 *
 * Tried with stand-ins for `sysctl` and with Linux' `ps`; not tried on a Mac.
 */
export function macHost(system: System): Host | null {
  const bootSession = told(() => system.run('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid']))?.trim();
  if (!bootSession) return null;
  const { pid } = system;
  return {
    key: hostKeyOf('darwin', bootSession),
    certain: true,
    signal: system.signal,
    self: () => ({ pid, thread: pid, started: ps(system, pid)?.started ?? '' }),
    observe: (owner) => ps(system, owner.pid),
  };
}

/**
 * Any other system, and Linux or macOS where they do not tell which boot this is. There is no key that is certainly
 * this machine's and this boot's alone, so no process judges another one: the probe always answers `'unknown'`.
 *
 * - The host's name stands in for the key. Local locks still exclude each other among the processes of one machine,
 *   and among all machines of that name.
 * - A local lock whose owner died without releasing it stays held until `forceRelease()`. After a change of the host's
 *   name it is in nobody's way, but a process started before the change and one started after it do not exclude each
 *   other.
 * - Global locks are as safe as anywhere: a dead owner's ends with its lease, on its own host as well.
 *
 * Windows is one of these systems; not tried there.
 */
export function namedHost(system: System): Host {
  const { pid } = system;
  return {
    key: hostKeyOf('name', system.hostname()),
    certain: false,
    signal: system.signal,
    self: () => ({ pid, thread: pid, started: '' }),
    observe: () => null,
  };
}

function ps({ run }: System, pid: number): Observation | null {
  try {
    return parsePs(run('/bin/ps', ['-o', 'state=', '-o', 'lstart=', '-p', String(pid)]));
  } catch {
    // Missing, forbidden, or it knows no such process: not to see one proves nothing.
    return null;
  }
}

function parsePs(line: string): Observation | null {
  const [, state, started = ''] = PS_LINE.exec(line) ?? [];
  return state === undefined ? null : { ended: state === 'Z', started };
}
