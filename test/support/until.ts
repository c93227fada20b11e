import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a condition. @throws when it has not come true after a time that only a hang exceeds */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what = 'the condition',
  hangMs = 30_000,
): Promise<void> {
  const end = performance.now() + hangMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`Waited ${hangMs} ms for ${what}.`);
    await sleep(5);
  }
}

/** A promise and the function that resolves it. */
export function signalled<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}
