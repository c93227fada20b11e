import { randomBytes } from 'node:crypto';
import mysql from 'mysql2/promise';
import { inject } from 'vitest';
import type { ServerUnderTest } from './servers.global.js';

/** The servers of this run; never empty. For `describe.each`. */
export function serversUnderTest(): ServerUnderTest[] {
  return inject('servers');
}

/** A new database of a name that nobody else uses. */
export async function freshDatabase(serverUrl: string): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `interlock_${randomBytes(6).toString('hex')}`;
  await onServer(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => onServer(serverUrl, `DROP DATABASE ${name}`) };
}

async function onServer(url: string, statement: string): Promise<void> {
  const connection = await mysql.createConnection(url);
  try {
    await connection.query(statement);
  } finally {
    await connection.end();
  }
}
