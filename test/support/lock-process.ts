import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import type { LockModuleOptions } from '../../lib/nest/lock-module.options.js';
import type { AcquireOptions } from '../../lib/shared/types.js';
import type { Answer, Contention, Question, Verb } from './lock-process.child.js';

/** A real process with lock services of its own. */
export class LockProcess {
  readonly #child: ChildProcess;
  readonly #answers = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  #asked = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (answer: Answer) => this.#onAnswer(answer));
    child.on('exit', () => this.#onExit());
  }

  /** Starts one; it is killed when the test ends, whichever way. */
  static async start(): Promise<LockProcess> {
    const started = await LockProcess.startShared();
    onTestFinished(() => started.kill());
    return started;
  }

  /** Starts one that the caller kills. */
  static async startShared(): Promise<LockProcess> {
    const child = fork(new URL('./lock-process.child.ts', import.meta.url), {
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    await once(child, 'message');
    return new LockProcess(child);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Opens a service; the later calls use it. */
  open(options: LockModuleOptions): Promise<void> {
    return this.#ask('open', [options]);
  }

  /** @returns the fencing token; null when refused */
  tryAcquire(name: string, options: AcquireOptions = {}): Promise<number | null> {
    return this.#ask('tryAcquire', [name, options]);
  }

  /** @returns the fencing token */
  acquire(name: string, options: AcquireOptions = {}): Promise<number> {
    return this.#ask('acquire', [name, options]);
  }

  release(name: string): Promise<boolean> {
    return this.#ask('release', [name]);
  }

  /** What the handle of a name says: whether it is held, and why its signal aborted. */
  state(name: string): Promise<{ held: boolean; lost: string | null }> {
    return this.#ask('state', [name]);
  }

  /** Enters guarded sections, all names in turn. */
  contend(contention: Contention): Promise<void> {
    return this.#ask('contend', [contention]);
  }

  close(): Promise<void> {
    return this.#ask('close', []);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Ends it with SIGKILL, and waits until it is gone and reaped. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }

  #ask<T>(verb: Verb, args: unknown[]): Promise<T> {
    const id = (this.#asked += 1);
    return new Promise<T>((resolve, reject) => {
      this.#answers.set(id, { resolve, reject });
      this.#child.send({ id, verb, args } satisfies Question);
    });
  }

  #onAnswer({ id, value, error }: Answer): void {
    const waiting = this.#answers.get(id);
    this.#answers.delete(id);
    if (error) waiting?.reject(Object.assign(new Error(error.message), error));
    else waiting?.resolve(value as never);
  }

  #onExit(): void {
    for (const waiting of this.#answers.values()) waiting.reject(new Error('The process has ended.'));
    this.#answers.clear();
  }
}
