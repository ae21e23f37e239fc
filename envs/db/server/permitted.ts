/**
 * Which statements of an agent reach the server: those that work on its own database and end with its connection.
 *
 * The server's privileges keep a user in its database, but ask for none where a statement outlives the connection
 * (XA), reaches other sessions (GET_LOCK), or hides another statement (PREPARE, compound statements, SET STATEMENT,
 * executable comments). Those never reach it.
 *
 * Invariants
 * - A statement that is not listed here is refused, so that a new statement of a later server is refused too.
 * - No reading of quotes is trusted, since settings of the agent's connection change it: a statement is known by its
 *   first words, and what an expression may not hold is refused anywhere in the text.
 */
import { type SqlFailure, sqlFailure } from '../../../worlds/mysql/database.ts'

/** Blanks and comments that every server passes by. An executable comment is none. */
const gap =
  /(?:\s|#[^\n]*(?:\n|$)|--[ \t][^\n]*(?:\n|$)|--(?:\n|$)|\/\*(?![!M+])[^*]*\*+(?:[^/*][^*]*\*+)*\/)+/y
const word = /[a-z_]\w*|=/iy
/** So many words tell a statement: CREATE OR REPLACE ALGORITHM = MERGE SQL SECURITY INVOKER VIEW. */
const mostWords = 10

/** Statements by their first words, one blank between two. */
const permitted: readonly RegExp[] = [
  /^(?:SELECT|WITH|VALUES|TABLE|INSERT|REPLACE|UPDATE|DELETE|TRUNCATE|DO|USE)\b/,
  /^(?:SHOW|DESC|DESCRIBE|EXPLAIN|ANALYZE|CHECK|CHECKSUM|OPTIMIZE|REPAIR)\b/,
  /^CREATE (?:OR REPLACE )?(?:TEMPORARY )?TABLE\b/,
  /^CREATE (?:OR REPLACE )?(?:ALGORITHM = \w+ )?(?:SQL SECURITY \w+ )?VIEW\b/,
  /^CREATE (?:OR REPLACE )?(?:UNIQUE |FULLTEXT |SPATIAL )?INDEX\b/,
  /^DROP (?:TEMPORARY )?(?:TABLES?|VIEW|INDEX)\b/,
  /^ALTER (?:ONLINE )?(?:IGNORE )?(?:TABLE|VIEW)\b/,
  /^RENAME TABLES?\b/,
  // STATEMENT runs another one; the others are the server's or the login's.
  /^SET\b(?! (?:STATEMENT|GLOBAL|PERSIST|PERSIST_ONLY|DEFAULT|RESOURCE)\b)/,
  /^START TRANSACTION\b/,
  /^BEGIN(?: WORK)?$/,
  /^(?:COMMIT|ROLLBACK|SAVEPOINT|RELEASE SAVEPOINT)\b/,
]

/** Functions whose locks all sessions of a server share. */
const sharedFunction = /GET_LOCK|RELEASE_LOCK|RELEASE_ALL_LOCKS|IS_FREE_LOCK|IS_USED_LOCK|SERVICE_\w+_LOCKS/i
/** Read by some servers as a part of the statement. */
const executableComment = /\/\*M?!/
/** Parts of a SET that change the login. */
const ofTheLogin = /\b(?:PASSWORD|ROLE)\b/i

const shownText = 40

/** Why a statement does not reach the server; undefined where it may. */
export function refusalOf(sql: string): SqlFailure | undefined {
  const { head, rest } = beginningOf(sql)
  // A text without a statement is answered by the server.
  if (head === '' && rest.replaceAll(/[;\s\0]/g, '') === '') return undefined
  const isQuery = head === '' && rest.startsWith('(')
  // A colon would make the first word the label of a compound statement; after BEGIN nothing else may come.
  const isKnown = permitted.some((known) => known.test(head)) && !rest.startsWith(':')
  const isWhole = !/^BEGIN\b/.test(head) || /^;?$/.test(rest)
  if (!isQuery && !(isKnown && isWhole)) return notSupported(`${head} ${rest}`.trim().slice(0, shownText))
  const shared = sharedFunction.exec(sql) ?? executableComment.exec(sql)
  if (shared !== null) return notSupported(shared[0])
  if (/^SET\b/.test(head) && ofTheLogin.test(sql)) return notSupported(head.slice(0, shownText))
  return undefined
}

/** The first words, in capitals, and what follows them. */
function beginningOf(sql: string): { readonly head: string; readonly rest: string } {
  const words: string[] = []
  let at = 0
  for (;;) {
    gap.lastIndex = at
    at += gap.exec(sql)?.[0].length ?? 0
    word.lastIndex = at
    const next = words.length < mostWords ? word.exec(sql)?.[0] : undefined
    if (next === undefined) return { head: words.join(' '), rest: sql.slice(at) }
    words.push(next.toUpperCase())
    at += next.length
  }
}

function notSupported(what: string): SqlFailure {
  return sqlFailure(1235, '42000', `This version of MySQL doesn't yet support '${what}'`)
}
