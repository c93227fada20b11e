import type { OwnerIdentity } from '../../../lib/shared/owner.js';

/** An owner as one line of text, for the way from one process to another. */
export function toJson(owner: OwnerIdentity): string {
  return JSON.stringify({ ...owner, hostKey: owner.hostKey.toString('hex') });
}

export function fromJson(line: string): OwnerIdentity {
  const owner = JSON.parse(line) as Omit<OwnerIdentity, 'hostKey'> & { hostKey: string };
  return { ...owner, hostKey: Buffer.from(owner.hostKey, 'hex') };
}
