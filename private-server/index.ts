/** A private MySQL-protocol server for tests, the sample app and the benchmark. */
export { anyServer, type Database } from './any-server.js';
export { startServer } from './start-server.js';
export type { Flavor, PrivateServer, ServerOptions } from './server-types.js';
