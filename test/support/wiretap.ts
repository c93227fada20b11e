import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

const COM_QUERY = 3;
const HEADER_BYTES = 4;
const NO_ATTRIBUTES = '\0\u0001';

/** A way to a database on which every statement is seen. */
export interface Wiretap {
  /** The database by this way. */
  readonly url: string;
  /** Every statement sent so far. */
  readonly statements: readonly string[];
  /** The statements that bind a name; values travel as hexadecimal bytes. */
  readonly about: (name: string) => string[];
}

/** Those of the statements that renew locks. */
export function renewals(statements: readonly string[]): string[] {
  return statements.filter((text) => /^UPDATE \S+ SET beat = /.test(text));
}

/** Those of the statements that try to take a lock. */
export function takes(statements: readonly string[]): string[] {
  return statements.filter((text) => text.startsWith('INSERT INTO'));
}

/** Those of the statements that look at rows by their keys. */
export function looks(statements: readonly string[]): string[] {
  return statements.filter((text) => text.startsWith('SELECT n.now') && text.includes('lock_key IN'));
}

/** Those of the statements that read every row that is not free. */
export function scans(statements: readonly string[]): string[] {
  return statements.filter((text) => text.startsWith('SELECT n.now') && text.includes('expires_at <> 0'));
}

/** Opens one for the running test. Beside the library: it reads what goes over the wire. */
export async function wiretap(url: string): Promise<Wiretap> {
  const target = new URL(url);
  const statements: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const database = connect(Number(target.port), target.hostname);
    const read = statementReader((text) => statements.push(text));
    client.on('data', read);
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => sockets.delete(from));
      from.pipe(to);
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const here = new URL(url);
  here.hostname = '127.0.0.1';
  here.port = String((server.address() as AddressInfo).port);
  const about = (name: string) => {
    const hex = Buffer.from(name).toString('hex');
    return statements.filter((text) => text.includes(hex));
  };
  return { url: here.href, statements, about };
}

/** MySQL's own clients announce their query attributes before the text: none, in one set. */
function withoutAttributes(text: string): string {
  return text.startsWith(NO_ATTRIBUTES) ? text.slice(NO_ATTRIBUTES.length) : text;
}

/** Cuts a client's stream into packets: three bytes of length, one of sequence, and for a query its kind and its text. */
function statementReader(seen: (text: string) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + rest.readUIntLE(0, 3);
      if (rest.length < end) return;
      if (rest[HEADER_BYTES - 1] === 0 && rest[HEADER_BYTES] === COM_QUERY)
        seen(withoutAttributes(rest.subarray(HEADER_BYTES + 1, end).toString()));
      rest = rest.subarray(end);
    }
  };
}
