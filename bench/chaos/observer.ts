/**
 * The observer: what the store of a home says, read beside the processes that write it.
 *
 * Invariants
 * - It only reads, and never waits for a writer (the store is in WAL mode).
 */
import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

/** The finished work of some moment, by identity. */
export type Finished = ReadonlyMap<string, string>

export class Observer implements Disposable {
  readonly #database: DatabaseSync

  /** @param file a store that is there */
  constructor(file: string) {
    // Not read-only: a process that opens a store after a crash may have to recover its log first.
    this.#database = new DatabaseSync(file, { timeout: 10_000 })
  }

  /** Turns sampled so far, of all runs. */
  turns(): number {
    return Number(this.#one('select count(*) as n from actions')?.n ?? 0)
  }

  /** Updates done so far. */
  updates(run: string): number {
    return Number(this.#one('select count(*) as n from updates where run = ?', run)?.n ?? 0)
  }

  /** The version from which the run samples; undefined before the first. */
  version(run: string): number | undefined {
    const version = this.#one('select version from runs where id = ?', run)?.version
    return version === null || version === undefined ? undefined : Number(version)
  }

  /** True when the run has ended, well or not. */
  hasEnded(run: string): boolean {
    const status = this.#one('select status from runs where id = ?', run)?.status
    return status === 'done' || status === 'stopped' || status === 'failed'
  }

  /** The state of the run, and why where it has failed. */
  standing(run: string): string {
    const { status, detail } = this.#one('select status, detail from runs where id = ?', run) ?? {}
    return detail === null || detail === undefined ? String(status) : `${status}: ${detail}`
  }

  /** True while an update is done and its version not yet published. */
  isPublishing(run: string): boolean {
    const newest = this.#one('select max(version) as version from updates where run = ?', run)?.version
    return newest !== null && newest !== undefined && Number(newest) > (this.version(run) ?? 0)
  }

  /** True while an update has its groups and not its result. */
  isUpdating(run: string): boolean {
    const consumed = this.#one('select max(consumed_by) as step from groups where run = ?', run)?.step
    return Number(consumed ?? 0) > this.updates(run)
  }

  /** True while an episode has ended, in its environment or at the limit of its turns, and is not sealed. */
  isSealing(turnLimit: number): boolean {
    const open = 'select 1 from episodes e join observations o on o.episode = e.id where e.checksum is null'
    return this.#one(`${open} and (o.done = 1 or o.turn >= ?) limit 1`, turnLimit) !== undefined
  }

  /** True for a group that ended without enough results, or has nothing more to come. */
  isGivenUp(group: string): boolean {
    const status = this.#one('select status from groups where id = ?', group)?.status
    return status === 'abandoned' || status === 'complete'
  }

  /** Numbers of the groups of a run that an update has consumed. */
  consumedGroups(run: string): ReadonlySet<number> {
    const rows = this.#all('select number from groups where run = ? and consumed_by is not null', run)
    return new Set(rows.map(({ number }) => Number(number)))
  }

  /** Turns of each episode that is not sealed. */
  openEpisodes(): ReadonlyMap<string, number> {
    const rows = this.#all(
      'select e.id, (select count(*) from actions a where a.episode = e.id) as n from episodes e where e.checksum is null',
    )
    return new Map(rows.map(({ id, n }) => [String(id), Number(n)]))
  }

  /** Under which the leases of this home's containers are. */
  scope(): string {
    return String(this.#one('select scope from lease_scope')?.scope)
  }

  /** Everything finished: sampled turns, sealed episodes, ended groups and their updates, with their bytes. */
  finished(): Finished {
    const marks: [string, string][] = []
    for (const row of this.#all('select episode, turn, version, tokens, logprobs from actions'))
      marks.push([`turn ${row.episode}#${row.turn}`, digest(row.version, row.tokens, row.logprobs)])
    for (const row of this.#all('select id, outcome, checksum from episodes where checksum is not null'))
      marks.push([`episode ${row.id}`, digest(row.outcome, row.checksum)])
    for (const row of this.#all("select id, status, episodes, rewards from groups where status <> 'running'"))
      marks.push([`group ${row.id}`, digest(row.status, row.episodes, row.rewards)])
    for (const row of this.#all('select run, step, version, groups from updates'))
      marks.push([`update ${row.run}#${row.step}`, digest(row.version, row.groups)])
    return new Map(marks)
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }

  #one(sql: string, ...values: readonly (string | number)[]): Record<string, unknown> | undefined {
    return this.#all(sql, ...values)[0]
  }

  #all(sql: string, ...values: readonly (string | number)[]): readonly Record<string, unknown>[] {
    return this.#database.prepare(sql).all(...values)
  }
}

function digest(...values: readonly unknown[]): string {
  const hash = createHash('sha256')
  for (const value of values) {
    const part = value instanceof Uint8Array ? value : String(value)
    hash.update(`${part.length} `).update(part)
  }
  return hash.digest('hex')
}
