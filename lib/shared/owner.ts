/**
 * Who owns a lock: one OS thread of one process of one boot of one machine (or of one PID namespace on it).
 * A PID alone lies: it is reused, it is 1 in every container, and worker threads share it.
 */
export interface OwnerIdentity {
  /** 16 bytes: equal exactly for processes that can judge each other's liveness. */
  readonly hostKey: Buffer;
  /** The host's name; for people only, never compared. */
  readonly host: string;
  readonly pid: number;
  /** The OS thread id; equal to `pid` for the main thread. */
  readonly thread: number;
  /** When the thread started, as its operating system says it; `''` where that cannot be read. At most 32 bytes. */
  readonly started: string;
}
