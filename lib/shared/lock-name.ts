import { createHash } from 'node:crypto';
import { LockNameError } from './errors.js';
import type { LockScope } from './types.js';

/** The width of the `lock_key` column, in bytes. */
export const KEY_BYTES = 191;
const NAME_BYTES = 1024;
/** A stored hash: a separator that reads as "shortened", then SHA-256 in hexadecimal. */
const HASH = /~[0-9a-f]{64}$/;
const HASH_BYTES = 65;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Checks a lock's name: a string of 1 to 1024 bytes of UTF-8. Nothing is trimmed, folded or normalized.
 * @throws LockNameError
 */
export function checkName(name: unknown): asserts name is string {
  if (typeof name !== 'string')
    throw new LockNameError(`Expected a lock name, a string, and got ${typeof name}.`);
  const bytes = Buffer.byteLength(name);
  if (bytes === 0)
    throw new LockNameError('Expected a lock name of at least one byte and got an empty string.');
  if (bytes > NAME_BYTES) {
    throw new LockNameError(`Expected a lock name of at most ${NAME_BYTES} bytes and got ${bytes}.`, name);
  }
  // UTF-8 has no bytes for half a surrogate pair: two such names would be stored as the same replacement character.
  if (LONE_SURROGATE.test(name))
    throw new LockNameError('Expected well-formed text and got half a surrogate pair.', name);
}

/**
 * The primary key of a lock: `g:<name>`, or `l:<host key>:<name>`, byte for byte.
 * A name too long for the column is kept as its readable beginning and its SHA-256. So is a short name that looks
 * like such a stored form, so that no two names ever share a key.
 */
export function keyOf(name: string, scope: LockScope, hostKey: Buffer): Buffer {
  const prefix = scope === 'global' ? 'g:' : localPrefix(hostKey);
  return Buffer.from(prefix + stored(name, KEY_BYTES - prefix.length));
}

/** Reads a stored key back; null for a row that is no lock of this layout (the sentinel row, for one). */
export function nameOf(key: Buffer): { name: string; scope: LockScope } | null {
  const text = key.toString();
  if (text.startsWith('g:')) return { scope: 'global', name: text.slice(2) };
  const separator = text.indexOf(':', 2);
  if (!text.startsWith('l:') || separator < 0) return null;
  return { scope: 'local', name: text.slice(separator + 1) };
}

function localPrefix(hostKey: Buffer): string {
  return `l:${hostKey.toString('base64url')}:`;
}

function stored(name: string, room: number): string {
  if (Buffer.byteLength(name) <= room && !HASH.test(name)) return name;
  const hash = createHash('sha256').update(name).digest('hex');
  return `${beginning(name, room - HASH_BYTES)}~${hash}`;
}

/** The longest beginning of at most `bytes` bytes that ends between two characters. */
function beginning(name: string, bytes: number): string {
  let kept = '';
  for (const character of name) {
    if (Buffer.byteLength(kept) + Buffer.byteLength(character) > bytes) break;
    kept += character;
  }
  return kept;
}
