import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';

/**
 * Reads the pid of the server that runs now, or an empty line for none, until the pipe to our process closes. Then it
 * removes the folder, more than once if need be: a server that was just killed may still be making a file in it.
 */
const SCRIPT = `
  trap '' INT TERM HUP
  pid=
  while read -r line; do pid=$line; done
  [ -n "$pid" ] && kill -9 "$pid"
  for try in 1 2 3 4 5; do rm -rf "$1" && break; sleep 1; done`;

/**
 * A tiny process that outlives ours. However ours ends, SIGKILL included, the pipe between the two closes; then the
 * guard kills the server that is still running and removes the folder.
 */
export class Guard {
  readonly #child: ChildProcess;
  /** Whoever is to be guarded writes its pid here, a line of its own. */
  readonly pipe: Socket;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.pipe = child.stdin as Socket;
    child.unref();
    this.pipe.unref();
  }

  /** Resolves once the folder is guarded. */
  static async over(folder: string): Promise<Guard> {
    const child = spawn('/bin/sh', ['-c', SCRIPT, 'guard', folder], {
      ...{ stdio: ['pipe', 'ignore', 'ignore'], cwd: '/', env: { PATH: '/usr/bin:/bin' } },
      // A session of its own: what ends our process group does not end the guard.
      detached: true,
    });
    await once(child, 'spawn');
    return new Guard(child);
  }

  /** The server is gone: its pid may soon be somebody else's, and is not to be killed any more. */
  forget(): void {
    this.pipe.write('\n');
  }

  /** Resolves once the server is killed, if one still ran, and the folder is removed. */
  async release(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.ref();
    this.pipe.end();
    await exit;
  }
}
