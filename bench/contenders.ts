import { Verrou } from '@verrou/core';
import { knexStore } from '@verrou/core/drivers/knex';
import knex from 'knex';
import mysql from 'mysql2/promise';
import { composeLocks } from '../lib/nest/compose.js';

/** Something that can be done one after the other, or many times at once, and that closes behind itself. */
export interface Contender {
  readonly name: string;
  /** One acquisition and its release (or what it is compared with). `lane` is 0 to 63: no two at once have the same. */
  readonly pair: (lane: number) => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

/** Connections of every pool here, but ours: it keeps its own default, four. */
const CONNECTIONS = 16;
const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };

/** Everybody on one server, on databases of their own. */
export async function contenders(url: string): Promise<Contender[]> {
  const pool = mysql.createPool({ uri: url, connectionLimit: CONNECTIONS });
  return [
    twoSelects(pool),
    getLock(pool),
    await verrou(url),
    await interlock(url, 'innodb'),
    await interlock(url, 'memory'),
  ];
}

/** The floor: two round trips that do nothing. */
function twoSelects(pool: mysql.Pool): Contender {
  const pair = async () => {
    await pool.query('SELECT 1');
    await pool.query('SELECT 1');
  };
  return { name: 'two SELECT 1', pair, close: () => Promise.resolve() };
}

/** The server's own locks, each on a connection that stays with its holder. Shares its pool with the SELECTs. */
function getLock(pool: mysql.Pool): Contender {
  const pair = async (lane: number) => {
    const connection = await pool.getConnection();
    await connection.query('SELECT GET_LOCK(?, 10)', [`lane-${lane}`]);
    await connection.query('SELECT RELEASE_LOCK(?)', [`lane-${lane}`]);
    connection.release();
  };
  return { name: 'GET_LOCK / RELEASE_LOCK', pair, close: () => pool.end() };
}

async function verrou(url: string): Promise<Contender> {
  const connection = knex({ client: 'mysql2', connection: url, pool: { min: 0, max: CONNECTIONS } });
  const store = { driver: knexStore({ connection, tableName: 'verrou' }) };
  const locks = new Verrou({ default: 'mysql', stores: { mysql: store } });
  const pair = async (lane: number) => {
    const lock = locks.createLock(`lane-${lane}`, 30_000);
    if (!(await lock.acquireImmediately())) throw new Error('A free lock was refused.');
    await lock.release();
  };
  await pair(0);
  return { name: '@verrou/core on knex', pair, close: () => connection.destroy() };
}

async function interlock(url: string, engine: 'memory' | 'innodb'): Promise<Contender> {
  const runtime = composeLocks({ connection: url, engine, table: `locks_${engine}` }, quiet);
  await runtime.open();
  const pair = async (lane: number) => {
    const lock = await runtime.locks.acquire(`lane-${lane}`);
    await lock.release();
  };
  return { name: `nestjs-interlock, ${engine}`, pair, close: () => runtime.close() };
}
