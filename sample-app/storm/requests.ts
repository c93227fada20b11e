import type { Archived } from '../archive/archive.service.js';
import { CommandError } from './command.js';

/** What became of one request to archive a site. */
export interface Answer {
  readonly site: string;
  /** Milliseconds since the epoch. */
  readonly asked: number;
  /** Of HTTP; 0 when the process that had the request was killed. */
  readonly status: number;
  readonly archived?: Archived;
}

/** Asks for one archive. @param fresh also when everything is archived already */
export async function archive(address: string, site: string, fresh: boolean): Promise<Answer> {
  const asked = Date.now();
  try {
    const response = await fetch(`${address}/sites/${site}/archive${fresh ? '?fresh' : ''}`, {
      method: 'POST',
      // A connection of its own: the processes share the port by connection.
      headers: { connection: 'close' },
    });
    const { status } = response;
    if (status === 200) return { site, asked, status, archived: (await response.json()) as Archived };
    await response.arrayBuffer();
    return { site, asked, status };
  } catch (error) {
    // What fetch throws when the connection breaks.
    if (error instanceof TypeError) return { site, asked, status: 0 };
    throw error;
  }
}

/** @returns the JSON at an address. @throws a CommandError that says what to do when the sample does not run */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- what the route answers is the caller's to know.
export async function get<T>(address: string): Promise<T> {
  try {
    const response = await fetch(address, { headers: { connection: 'close' } });
    return (await response.json()) as T;
  } catch (cause) {
    throw new CommandError(`Expected the sample to answer at ${address}; 'npm start' starts it.`, { cause });
  }
}
