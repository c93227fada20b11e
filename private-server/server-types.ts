/** Whose server: MySQL's or MariaDB's. */
export type Flavor = 'mysql' | 'mariadb';

/** What kind of private server to start. */
export interface ServerOptions {
  readonly flavor: Flavor;
  /** Further arguments of the server, such as `--log-bin` or `--server-id=2`; they win over the defaults. */
  readonly options?: readonly string[];
  /** Further environment variables of the server, such as `LD_PRELOAD`. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A server that belongs to this process alone, on loopback, with its data in a private temporary directory. */
export interface PrivateServer {
  readonly flavor: Flavor;
  /** As the server itself tells it, like `9.7.4`. */
  readonly version: string;
  readonly port: number;
  readonly pid: number;
  /** `mysql://root@127.0.0.1:port`, with the database if one is named. */
  url(database?: string): string;
  /** Creates a database, of a random name unless one is given. @returns its URL */
  createDatabase(name?: string): Promise<string>;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
  /** Ends the server with SIGKILL and waits until it is gone; its data stays. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port, after `kill()` or by an orderly end of its own; options replace the first ones. */
  restart(options?: readonly string[]): Promise<void>;
}

/** An installed server program. */
export interface Program {
  readonly flavor: Flavor;
  readonly version: string;
  /** What to run: the program itself, or a loader that runs it. */
  readonly command: string;
  /** Arguments that always come first. */
  readonly args: readonly string[];
  /** Where its messages and its SQL scripts are. */
  readonly shareDir: string;
}
