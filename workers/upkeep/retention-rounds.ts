/**
 * Retention rounds: what a home keeps of runs that have ended, of histories and of logs, brought to what their retention
 * says now and then, while a process works on the home.
 *
 * Invariants
 * - Runs in progress clean up after themselves; here only their histories and logs are looked at.
 * - Work never waits for it, and a fault of it is reported and tried again the next time.
 */
import type { Client } from '@temporalio/client'
import { holdingsOf, remove, retentionPolicy } from '../../activities/stored/retention.ts'
import { storedConfig } from '../../config/files/stored-config.ts'
import type { HomeName } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import type { Home } from '../../storage/disk/home.ts'
import { longLogs, shortenLog } from '../../storage/disk/logs.ts'
import { planRetention } from '../../storage/records/retention.ts'
import type { Store } from '../../storage/store.ts'
import { endedExecutions, forgetExecutions, historiesBefore } from '../../temporal/histories.ts'

/** A session that ends sooner has no time to spare. */
const firstAfterMs = 60_000
const everyMs = 60 * 60 * 1000

const megabyte = 1e6

interface Dependencies {
  readonly home: Home
  readonly store: Store
  readonly client: Client
  /** Under which the server knows the home's work. */
  readonly homeName: HomeName
  readonly log: (line: string) => void
}

export interface RetentionRounds {
  close(): Promise<void>
}

/** Does a round every hour until it is closed. */
export function startRetentionRounds(dependencies: Dependencies): RetentionRounds {
  const closing = new AbortController()
  const { signal } = closing

  async function work(): Promise<void> {
    let waitMs = firstAfterMs
    for (;;) {
      await clock.sleep(waitMs, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      waitMs = everyMs
      try {
        await applyRetention(dependencies, signal)
      } catch (error) {
        if (!signal.aborted) dependencies.log(`retention is put off to the next round: ${String(error)}`)
      }
    }
  }

  const working = work()
  return {
    async close() {
      closing.abort()
      await working
    },
  }
}

/** One round. @param signal ends it between two runs */
async function applyRetention(
  { home, store, client, homeName }: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  const now = clock.now()
  const limits: number[] = []
  for (const { id: run, status, created, config: given } of await store.runs.list()) {
    if (signal.aborted) return
    const config = storedConfig(given)
    limits.push(config.retention.logMegabytes * megabyte)
    if (status !== 'running') {
      const place = { run, store, directory: home.run(run) }
      await remove(place, planRetention(await holdingsOf(place), retentionPolicy(config), now), now)
    }
    const before = historiesBefore(config, now)
    if (created < before) {
      await forgetExecutions(client, await endedExecutions(client, { run, home: homeName }, before), signal)
    }
  }
  for (const long of limits.length === 0 ? [] : await longLogs(home.logsDir, Math.max(...limits)))
    await shortenLog(long)
  await store.holdings.shrink()
}
