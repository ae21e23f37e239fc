/**
 * Reads tokens one after another.
 *
 * Invariants
 * - Reading past the end gives the end again.
 */
import { databaseName, deniedTable, notSupported, StatementRefused, syntaxFailure } from '../failure.ts'
import { SyntaxFailure, type Token, tokensOf } from './token.ts'

// Words that no version of MySQL takes for a name without quotes. Words that only newer versions reserve, such as
// RANK, are left out: AgentBench's own statements use them.
const reserved = new Set(
  `ADD ALL ALTER ANALYZE AND AS ASC BEFORE BETWEEN BOTH BY CALL CASCADE CASE CHANGE CHECK COLLATE COLUMN CONDITION
   CONSTRAINT CONTINUE CONVERT CREATE CROSS CURSOR DATABASE DATABASES DECLARE DEFAULT DELAYED DELETE DESC DESCRIBE
   DISTINCT DROP EACH ELSE ELSEIF ENCLOSED ESCAPED EXISTS EXIT EXPLAIN FALSE FETCH FOR FORCE FOREIGN FROM FULLTEXT
   GRANT GROUP HAVING IGNORE IN INDEX INFILE INNER INOUT INSERT INTO IS ITERATE JOIN KEY KEYS KILL LEADING LEAVE LIKE
   LIMIT LINES LOAD LOCK LOOP MATCH NATURAL NOT NULL ON OPTIMIZE OPTION OPTIONALLY OR ORDER OUT OUTER OUTFILE PRIMARY
   PROCEDURE PURGE RANGE READ REFERENCES REGEXP RELEASE RENAME REQUIRE RESTRICT RETURN REVOKE RLIKE SCHEMA SELECT
   SEPARATOR SET SHOW SPATIAL SQL STARTING TABLE TERMINATED THEN TO TRAILING TRIGGER TRUE UNDO UNION UNIQUE UNLOCK
   UNSIGNED UPDATE USAGE USE USING VALUES WHEN WHERE WHILE WITH WRITE XOR ZEROFILL`.split(/\s+/),
)

const knownCollation = /^(?:utf8(?:mb[34])?_(?:\w+_ci|bin)|binary)$/

/** The tokens of a statement, with a place in them. */
export class TokenReader {
  readonly #sql: string
  readonly tokens: readonly Token[]
  #at = 0

  /** @throws StatementRefused where the text is no SQL */
  constructor(sql: string) {
    this.#sql = sql
    try {
      this.tokens = tokensOf(sql)
    } catch (error) {
      if (error instanceof SyntaxFailure) throw new StatementRefused(syntaxFailure(sql, error.start))
      throw error
    }
  }

  /** The token that is next, or so many later. */
  peek(ahead = 0): Token {
    return (
      this.tokens[Math.min(this.#at + ahead, this.tokens.length - 1)] ?? { kind: 'end', text: '', start: 0 }
    )
  }

  next(): Token {
    const token = this.peek()
    this.#at++
    return token
  }

  /** Whether these words are next. */
  sees(...words: readonly string[]): boolean {
    return words.every((word, ahead) => wordOf(this.peek(ahead)) === word)
  }

  /** Goes past these words where they are next. */
  skips(...words: readonly string[]): boolean {
    if (!this.sees(...words)) return false
    this.#at += words.length
    return true
  }

  seesSymbol(text: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token.kind === 'symbol' && token.text === text
  }

  skipsSymbol(text: string): boolean {
    if (!this.seesSymbol(text)) return false
    this.#at++
    return true
  }

  /** @throws StatementRefused where it is not next */
  expectSymbol(text: string): void {
    if (!this.skipsSymbol(text)) throw this.refusal()
  }

  /** @throws StatementRefused where they are not next */
  expect(...words: readonly string[]): void {
    if (!this.skips(...words)) throw this.refusal()
  }

  /** A name, unquoted. @throws StatementRefused where there is none, or a reserved word that is not quoted */
  name(): string {
    const token = this.peek()
    const before = this.tokens[this.#at - 1]
    const qualified = before?.kind === 'symbol' && before.text === '.'
    if (token.kind === 'word' && reserved.has(token.upper) && !qualified) throw this.refusal()
    return this.word()
  }

  /** A name or any word, such as a type's. @throws StatementRefused where there is none */
  word(): string {
    const token = this.peek()
    if (token.kind !== 'word' && token.kind !== 'name') throw this.refusal()
    this.#at++
    return token.text
  }

  /** A name that may be qualified by its database's. */
  qualifiedName(): { readonly schema?: string | undefined; readonly name: string } {
    const name = this.name()
    return this.skipsSymbol('.') ? { schema: name, name: this.name() } : { name }
  }

  /** The name of a table of the session's database. @throws StatementRefused for one of another database */
  tableName(): string {
    const { schema, name } = this.qualifiedName()
    if (schema !== undefined && schema.toLowerCase() !== databaseName)
      throw new StatementRefused(deniedTable(schema, name))
    return name
  }

  /** A column, perhaps with its table and database. */
  columnName(): { readonly table?: string | undefined; readonly name: string } {
    const parts = [this.name()]
    while (parts.length < 3 && this.skipsSymbol('.')) parts.push(this.name())
    return { table: parts.at(-2), name: parts.at(-1) ?? '' }
  }

  /** Numbers in parentheses behind a type, if there are any. */
  sizes(): readonly number[] {
    const sizes: number[] = []
    if (!this.skipsSymbol('(')) return sizes
    do {
      const token = this.next()
      if (token.kind !== 'number' || !/^\d+$/.test(token.text)) throw this.refusal(token)
      sizes.push(Number(token.text))
    } while (this.skipsSymbol(','))
    this.expectSymbol(')')
    return sizes
  }

  /** A collation of Unicode. @throws StatementRefused where it is none that the engine knows */
  collation(): string {
    const name = this.word().toLowerCase()
    if (!knownCollation.test(name)) throw this.unsupported(`collation ${name}`)
    return name
  }

  /** The text from a place up to the next token. */
  textFrom(start: number): string {
    const before = this.tokens[this.#at - 1]
    return this.#sql.slice(start, before === undefined ? start : this.peek().start).trim()
  }

  /** @throws StatementRefused where more follows than a semicolon */
  end(): void {
    while (this.skipsSymbol(';'));
    if (this.peek().kind !== 'end') throw this.refusal()
  }

  /** That the engine lacks a part of MySQL. */
  unsupported(what: string): StatementRefused {
    return new StatementRefused(notSupported(what))
  }

  /** That the text is no SQL from the next token on. */
  refusal(token: Token = this.peek()): StatementRefused {
    return new StatementRefused(syntaxFailure(this.#sql, token.start))
  }
}

export function isReserved(word: string): boolean {
  return reserved.has(word)
}

/** A word in upper case; undefined for other tokens. */
export function wordOf(token: Token): string | undefined {
  return token.kind === 'word' ? token.upper : undefined
}
