// A worker thread that says who it is, and lives on.
import { parentPort } from 'node:worker_threads';
import { ownIdentity } from '../../../lib/process/own-identity.js';
import { toJson } from './identity-json.js';

parentPort!.postMessage(toJson(ownIdentity()), []);
setInterval(() => {}, 60_000);
