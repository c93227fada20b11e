import { hostname } from 'node:os';
import type { OwnerIdentity } from '../shared/owner.js';
import type { Host } from './host.js';
import { thisHost } from './this-host.js';

const HOST_BYTES = 64;

/**
 * Who the calling thread is. It must be called on the thread that is to own locks, since worker threads are owners of
 * their own; the answer stays the same while the thread lives, so it can be kept.
 * @throws what the system throws when it is out of files, memory or processes
 */
export function ownIdentity(host: Host = thisHost(), name = hostname()): OwnerIdentity {
  return { hostKey: host.key, host: beginning(name, HOST_BYTES), ...host.self() };
}

/** The longest beginning of at most `bytes` bytes of UTF-8 that ends between two characters. */
function beginning(text: string, bytes: number): string {
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read);
}
