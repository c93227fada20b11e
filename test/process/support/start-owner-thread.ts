import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { OwnerIdentity } from '../../../lib/shared/owner.js';
import { fromJson } from './identity-json.js';

/** Starts a worker thread that lives on; resolves to it and to who it says it is. */
export async function startOwnerThread(): Promise<{ worker: Worker; owner: OwnerIdentity }> {
  // The loader of TypeScript that a program was started with is not at work in its worker threads.
  const [folder, file] = [import.meta.url, './owner-thread.ts'].map((text) => JSON.stringify(text));
  const code = `import('tsx/esm/api').then(({ tsImport }) => tsImport(${file}, ${folder}));`;
  const worker = new Worker(code, { eval: true });
  const [line] = (await once(worker, 'message')) as [string];
  return { worker, owner: fromJson(line) };
}
