import { COLUMNS, NOW } from './schema.js';
import { NEVER } from './lock-store.js';

const NAMES = Object.keys(COLUMNS);
const CLOCK = `(SELECT ${NOW} AS now) n`;

/** Whether a witness stands by a moment: the clock is within a thirtieth of the lease of what was expected. Two `?`. */
const near = (moment: string, lease: string) => `ABS(${moment} - ?) + ? <= ${lease} DIV 30`;
const insertInto = (t: string) => `INSERT INTO ${t} (${NAMES.join(', ')})`;
/** The columns after the token follow it: to the new row where it became the new one's, else they stay. */
const follow = (t: string) =>
  NAMES.filter((name) => !['lock_key', 'token', 'fencing'].includes(name))
    .map((name) => `${name} = IF(${t}.token = VALUES(token), VALUES(${name}), ${t}.${name})`)
    .join(', ');

/** Every SQL text of the library that touches the lock table, for one table. */
export type Statements = ReturnType<typeof statementsFor>;

/**
 * @param table a checked name
 * @param checkServer whether a sentinel must carry the answering server's `@@server_id`; off on multi-primary clusters,
 *   which have no single one
 * @param checkGroup whether the server must be online in its replication group, with a majority: elsewhere the function
 *   fails at once (error 1123), where the write itself would hang, or count for nothing
 */
export function statementsFor(table: string, checkServer: boolean, checkGroup = false) {
  const t = `\`${table}\``;
  const inGroup = checkGroup ? ` AND group_replication_get_communication_protocol() <> ''` : '';
  const server = (checkServer ? 'm.server_id = @@server_id' : 'TRUE') + inGroup;
  return { ...grants(t, server), ...upkeep(t), ...recovery(t, server), ...pruning(t) };
}

function grants(t: string, server: string) {
  return {
    // One round trip for a new name, a free row and an ended lease alike. The token is decided first: what follows
    // in the list sees whether it became ours. Granted <=> insertId > 0, and its value is the fencing token:
    // affectedRows cannot tell, and every branch has to set LAST_INSERT_ID, or the one of VALUES leaks.
    take: `${insertInto(t)}
SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ${near('n.now', '?')}, 0,
  LAST_INSERT_ID(GREATEST(n.now, m.fencing + 1)), n.now, n.now, COALESCE(?, n.now + ?)
  FROM ${CLOCK} JOIN ${t} m ON m.lock_key = '' AND m.expires_at = 0 AND ${server} AND m.fencing >= ?
ON DUPLICATE KEY UPDATE
  token = IF(${t}.expires_at = 0
    OR (${t}.expires_at <= VALUES(acquired_at) AND ${t}.witnessed AND ${near('VALUES(acquired_at)', `${t}.lease`)})
    OR (${t}.token = ? AND ${t}.beat = ?), VALUES(token), ${t}.token),
  fencing = IF(${t}.token = VALUES(token),
    LAST_INSERT_ID(GREATEST(${t}.fencing + 1, VALUES(fencing))), ${t}.fencing + LAST_INSERT_ID(0)),
  ${follow(t)}`,

    // The take for a full MEMORY table, which refuses INSERT ... ON DUPLICATE KEY UPDATE on a row that exists, too.
    // The conditions stand in WHERE: a joined UPDATE promises no order of assignments.
    takeExisting: `UPDATE ${t} JOIN ${CLOCK} JOIN (SELECT m.fencing AS floor FROM ${t} m
  WHERE m.lock_key = '' AND m.expires_at = 0 AND ${server} AND m.fencing >= ?) s
SET ${t}.fencing = LAST_INSERT_ID(GREATEST(${t}.fencing + 1, n.now, s.floor + 1)),
  ${t}.token = ?, ${t}.instance = ?, ${t}.host_key = ?, ${t}.host = ?, ${t}.pid = ?, ${t}.thread = ?, ${t}.started = ?,
  ${t}.label = ?, ${t}.lease = ?, ${t}.beat = 0, ${t}.witnessed = ${near('n.now', '?')},
  ${t}.acquired_at = n.now, ${t}.renewed_at = n.now, ${t}.expires_at = COALESCE(?, n.now + ?)
WHERE ${t}.lock_key = ? AND (${t}.expires_at = 0
  OR (${t}.expires_at <= n.now AND ${t}.witnessed AND ${near('n.now', `${t}.lease`)})
  OR (${t}.token = ? AND ${t}.beat = ?))`,

    // Accepted only while the table recovers, over a missing row or one from before this holder.
    reclaim: `${insertInto(t)}
SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${near('n.now', '?')}, 0, ?, ?, n.now, COALESCE(?, n.now + ?)
  FROM ${CLOCK} JOIN ${t} m ON m.lock_key = '' AND m.expires_at > 0 AND ${server} AND m.fencing >= ?
ON DUPLICATE KEY UPDATE
  token = IF(${t}.fencing < VALUES(fencing), VALUES(token), ${t}.token),
  fencing = IF(${t}.token = VALUES(token), VALUES(fencing), ${t}.fencing),
  ${follow(t)}`,
  };
}

function upkeep(t: string) {
  return {
    // `expires_at > 0`: a renewal must not bring back a lock that an operator freed. `beat < ?`: one left behind by a
    // dead connection must not shorten a newer one. The lease's end itself is no condition: see DESIGN in docs.
    renew: `UPDATE ${t} SET beat = ?, renewed_at = ${NOW}, witnessed = ${near(NOW, 'lease')},
  expires_at = IF(expires_at = ${NEVER}, ${NEVER}, ${NOW} + lease)
WHERE lock_key IN (?) AND token IN (?) AND expires_at > 0 AND beat < ?`,

    free: `UPDATE ${t} SET expires_at = 0, renewed_at = ${NOW} WHERE lock_key = ? AND token = ? AND expires_at > 0`,
    freeAll: `UPDATE ${t} SET expires_at = 0, renewed_at = ${NOW} WHERE lock_key IN (?) AND token IN (?) AND expires_at > 0`,
    freeSeen: `UPDATE ${t} SET expires_at = 0, renewed_at = ${NOW}
WHERE lock_key = ? AND token = ? AND beat = ? AND expires_at > 0`,

    look: `SELECT n.now AS db_now, @@server_id AS this_server, ${t}.* FROM ${CLOCK} LEFT JOIN ${t} ON ${t}.lock_key IN (?)`,
    scan: `SELECT n.now AS db_now, @@server_id AS this_server, ${t}.* FROM ${CLOCK}
LEFT JOIN ${t} ON ${t}.expires_at <> 0 OR ${t}.lock_key = ''`,
  };
}

function recovery(t: string, server: string) {
  return {
    // Compare-and-swap on the sentinel's token, so that of many who find it broken one writes it.
    beginRecovery: `${insertInto(t)}
SELECT '', ?, ?, ?, ?, ?, ?, ?, '', ?, 0, ${near('n.now', '?')}, @@server_id,
  GREATEST(n.now, ?), n.now, n.now, n.now + ? FROM ${CLOCK}
ON DUPLICATE KEY UPDATE
  token = IF(${t}.token = ?, VALUES(token), ${t}.token),
  fencing = IF(${t}.token = VALUES(token), GREATEST(${t}.fencing + 1, VALUES(fencing)), ${t}.fencing),
  ${follow(t)}`,
    // An explicit state: `expires_at <= now` would close a long-open sentinel again when the clock steps back.
    endRecovery: `UPDATE ${t} m SET m.expires_at = 0, m.renewed_at = ${NOW}
WHERE m.lock_key = '' AND m.token = ? AND m.beat = ? AND m.expires_at > 0 AND ${server}`,
  };
}

function pruning(t: string) {
  return {
    prunable: `SELECT lock_key, fencing FROM ${t}
WHERE expires_at = 0 AND lock_key <> '' AND renewed_at <= ${NOW} - ? LIMIT ?`,
    // Before a row goes, the floor takes over its fencing number: else numbers repeat when a clock is put right.
    raiseFloor: `UPDATE ${t} SET fencing = GREATEST(fencing, ?) WHERE lock_key = ''`,
    prune: `DELETE FROM ${t} WHERE lock_key = ? AND expires_at = 0 AND fencing = ? AND renewed_at <= ${NOW} - ?`,
  };
}
