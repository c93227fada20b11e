import type { Host } from './host.js';
import { linuxHost } from './linux-host.js';
import { macHost, namedHost } from './portable-host.js';
import { system, type System } from './system.js';

/** The host of this process, in the best way its system offers. */
export function hostOf(system: System): Host {
  return certainHost(system) ?? namedHost(system);
}

let known: Host | undefined;

/**
 * Found out at the first call, not at import, and kept: none of it changes while a process lives.
 * @throws what the system throws when it is out of files, memory or processes
 */
export function thisHost(): Host {
  return (known ??= hostOf(system));
}

function certainHost(system: System): Host | null {
  if (system.platform === 'linux') return linuxHost(system);
  return system.platform === 'darwin' ? macHost(system) : null;
}
