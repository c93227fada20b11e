import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2';
import { LockStorageError } from '../shared/errors.js';
import { connectionSurvives, storageError } from './storage-trouble.js';

/** A value bound to a `?`. Names are bound as Buffers only: no character set, and no escaping mode, touches their bytes. */
export type Value = Buffer | number | string | null | readonly (Buffer | number)[];
export type Row = RowDataPacket;

const IN_TRANSACTION = 1;
const AUTOCOMMIT = 2;

/** One of our connections while a piece of work has it. Every error is a {@link LockStorageError}. */
export class Session {
  readonly #connection: Connection;
  readonly #timeoutMs: number;

  /** @param timeoutMs after it a statement's outcome is given up as unknown, together with the connection */
  constructor(connection: Connection, timeoutMs: number) {
    this.#connection = connection;
    this.#timeoutMs = timeoutMs;
  }

  async read(sql: string, values: readonly Value[] = []): Promise<Row[]> {
    return (await this.#query(sql, values)) as Row[];
  }

  /** @throws LockStorageError also when the write was not committed by itself: then it is no lock. */
  async write(sql: string, values: readonly Value[] = []): Promise<ResultSetHeader> {
    const header = (await this.#query(sql, values)) as ResultSetHeader;
    if ((header.serverStatus & (IN_TRANSACTION | AUTOCOMMIT)) !== AUTOCOMMIT) {
      this.#connection.destroy();
      throw new LockStorageError(
        'A lock statement was not committed: something switched autocommit off.',
        'refused',
      );
    }
    return header;
  }

  /** For statements such as SET that are no writes. */
  async run(sql: string, values: readonly Value[] = []): Promise<void> {
    await this.#query(sql, values);
  }

  #query(sql: string, values: readonly Value[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#connection.query({ sql, values: [...values], timeout: this.#timeoutMs }, (error, result) => {
        if (!error) return resolve(result);
        // The statement of a timed-out connection may still run, and the next one would queue behind it.
        if (!connectionSurvives(error)) this.#connection.destroy();
        reject(storageError(error));
      });
    });
  }
}
