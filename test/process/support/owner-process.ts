// Says on its first line who it is, on its second line who its worker thread is, and lives on.
// Ends the worker thread when it is sent a line, and says so on its third line.
import { ownIdentity } from '../../../lib/process/own-identity.js';
import { toJson } from './identity-json.js';
import { startOwnerThread } from './start-owner-thread.js';

console.log(toJson(ownIdentity()));
const { worker, owner } = await startOwnerThread();
console.log(toJson(owner));
process.stdin.once('data', () => void worker.terminate().then(() => console.log('the worker ended')));
// Ends by itself, too: a killed test runner kills nobody.
setTimeout(() => process.exit(), 100_000);
