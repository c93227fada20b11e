import type { Clock } from '../shared/clock.js';
import { LockStorageError } from '../shared/errors.js';
import type { TakeReply, TakeRequest, Testify } from './lock-store.js';
import { bytes, fixedEnd, ownerValues } from './rows.js';
import type { Session, Value } from './session.js';
import type { Statements } from './statements.js';

/** Tries to take each lock, one statement after the other on one connection. */
export async function takeLocks(
  session: Session,
  sql: Statements,
  requests: readonly TakeRequest[],
  testify: Testify,
  clock: Clock,
): Promise<TakeReply[]> {
  const replies: TakeReply[] = [];
  for (const request of requests) replies.push(await takeOne(session, sql, request, testify, clock));
  return replies;
}

async function takeOne(
  session: Session,
  sql: Statements,
  request: TakeRequest,
  testify: Testify,
  clock: Clock,
): Promise<TakeReply> {
  try {
    return await send(session, sql.take, takeValues, request, testify, clock);
  } catch (error) {
    if (!(error instanceof LockStorageError) || error.trouble !== 'full') throw error;
    const reply = await send(session, sql.takeExisting, takeExistingValues, request, testify, clock);
    // Nothing changed: the row is held, or there is none. Only the first is an answer.
    if (reply.fencing === null && !(await exists(session, sql, request.key))) throw error;
    return reply;
  }
}

type ValuesOf = (request: TakeRequest, clock: readonly [expected: number, slack: number]) => Value[];

async function send(
  session: Session,
  sql: string,
  valuesOf: ValuesOf,
  request: TakeRequest,
  testify: Testify,
  clock: Clock,
): Promise<TakeReply> {
  const { expected, slack } = testify();
  const sentAt = clock.monotonic();
  const { insertId } = await session.write(sql, valuesOf(request, [expected, slack]));
  return { sentAt, fencing: insertId || null };
}

const takeValues: ValuesOf = (request, clock) => [
  ...[request.key, request.token, ...ownerValues(request), bytes(request.label), request.lease],
  ...[...clock, request.lease, fixedEnd(request), request.lease, request.floor],
  ...[...clock, request.seen?.token ?? null, request.seen?.beat ?? null],
];

const takeExistingValues: ValuesOf = (request, clock) => [
  ...[request.floor, request.token, ...ownerValues(request), bytes(request.label), request.lease],
  ...[...clock, request.lease, fixedEnd(request), request.lease, request.key],
  ...[...clock, request.seen?.token ?? null, request.seen?.beat ?? null],
];

async function exists(session: Session, sql: Statements, key: Buffer): Promise<boolean> {
  const [row] = await session.read(sql.look, [[key]]);
  return row !== undefined && row.lock_key !== null;
}
