import type { OwnerIdentity } from '../shared/owner.js';
import { hostKeyOf, type Host, type Observation } from './host.js';
import { parseProcStat, type ProcStat } from './proc-stat.js';
import { codeOf, told, type System } from './system.js';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** The initial time namespace, see time_namespaces(7); its number is a constant of the kernel, 0xEFFFFFFA. */
const INITIAL_TIME = 'time:[4026531834]';

/**
 * The boot and the PID namespace. Null where `/proc` does not tell both.
 *
 * Both files are right for ourselves through any `/proc`, also one that belongs to an outer PID namespace. The boot id
 * alone is shared by all containers; the namespace's number alone is the same on every machine, and is given away
 * again when a namespace ended, which its last process did before.
 *
 * Not told apart: copies of a running virtual machine that share a snapshot, and so the boot id.
 */
export function linuxHost(system: System): Host | null {
  const bootId = told(() => system.read(BOOT_ID))?.trim() ?? '';
  const namespace = told(() => system.readlink('/proc/self/ns/pid')) ?? '';
  if (!UUID.test(bootId) || !/^pid:\[\d+\]$/.test(namespace)) return null;
  const comparable = hasComparableStarts(system);
  const observable = isProcOurs(system);
  return {
    key: hostKeyOf('linux', bootId, namespace),
    certain: true,
    signal: system.signal,
    self: () => self(system, observable, comparable),
    observe: (owner) => (observable ? observe(system, owner, comparable) : null),
  };
}

/**
 * Whether `/proc` shows our own PID namespace: in a `/proc` mounted outside of it every number is somebody else's.
 * `NSpid` lists a process's ids from the namespace of `/proc` down to its own; see proc(5). A single number, our own,
 * is stricter than comparing the pid in `/proc/self/stat`, which an outer id can equal by chance.
 */
function isProcOurs({ read, pid }: System): boolean {
  const status = told(() => read('/proc/self/status')) ?? '';
  return /^NSpid:\t(\d+)$/m.exec(status)?.[1] === String(pid);
}

/**
 * Whether starts read here equal those read by other processes: `/proc` shifts them by the reader's time namespace.
 * A kernel before 5.6 has no such namespaces.
 */
function hasComparableStarts({ readlink }: System): boolean {
  try {
    return readlink('/proc/self/ns/time') === INITIAL_TIME;
  } catch (error) {
    return codeOf(error) === 'ENOENT';
  }
}

function self(system: System, observable: boolean, comparable: boolean): ReturnType<Host['self']> {
  const { pid } = system;
  const stat = observable ? parseProcStat(told(() => system.read('/proc/thread-self/stat')) ?? '') : null;
  if (!stat) return { pid, thread: pid, started: '' };
  return { pid, thread: stat.id, started: comparable ? stat.start : '' };
}

/**
 * Looks at `/proc/<thread>`, not at `/proc/<pid>/task/<thread>`: the kernel resolves any thread's id there, see
 * proc(5). So an id that now belongs to a thread of another process shows that one's start, which is a proof. With the
 * longer path the entry would just be absent, as it also is when hidepid hides a living process.
 */
function observe(system: System, owner: OwnerIdentity, comparable: boolean): Observation | null {
  const stat = readStat(system, owner.thread);
  return stat && { ended: hasEnded(stat, owner), started: comparable ? stat.start : '' };
}

function readStat({ read }: System, thread: number): ProcStat | null {
  try {
    return parseProcStat(read(`/proc/${thread}/stat`));
  } catch {
    // Whatever the reason (gone, hidden, no file descriptors left), not to see a task proves nothing.
    return null;
  }
}

/** A process whose main thread ended before the others is shown as a zombie as well, but its work goes on. */
function hasEnded({ state, threads }: ProcStat, { pid, thread }: OwnerIdentity): boolean {
  if (!'ZXx'.includes(state)) return false;
  return thread !== pid || threads <= 1;
}
