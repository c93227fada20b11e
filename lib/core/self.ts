import type { OwnerIdentity } from '../shared/owner.js';

/** Who this service is. */
export interface Self {
  /** 16 random bytes, one per service: tells its own rows from those of other services in the same process. */
  readonly instance: Buffer;
  readonly owner: OwnerIdentity;
}
