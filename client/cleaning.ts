/**
 * Cleaning a home: lists and removes parts of its runs, Temporal's histories and logs.
 *
 * Invariants
 * - A dry run has no lasting effect; removal deletes exactly what it listed, and nothing that a live run needs.
 * - Cleaning twice finds nothing the second time.
 */

import { existsSync } from 'node:fs'
import { holdingsOf, remove, retentionPolicy } from '../activities/stored/retention.ts'
import type { RunConfig } from '../config/schema/schema.ts'
import type { RunId } from '../identity/identity.ts'
import type { Home } from '../storage/disk/home.ts'
import { type LongLog, longLogs, shortenLog } from '../storage/disk/logs.ts'
import { planRetention, type Removal } from '../storage/records/retention.ts'
import type { Store } from '../storage/store.ts'
import { withServer } from '../temporal/connection.ts'
import {
  type EndedExecution,
  endedExecutions,
  forgetExecutions,
  historiesBefore,
} from '../temporal/histories.ts'
import { homeNameOn } from '../temporal/home-name.ts'
import { compactServerFile } from '../temporal/server/server-file.ts'

const megabyte = 1e6

/** A run whose things are looked at. */
export interface RunToClean {
  readonly run: RunId
  /** The configuration whose retention counts. */
  readonly config: RunConfig
  /** Milliseconds since the epoch. */
  readonly created: number
}

/** Things that may be removed. */
export interface Cleaning {
  readonly runs: readonly { readonly run: RunId; readonly removals: readonly Removal[] }[]
  readonly histories: readonly { readonly run: RunId; readonly executions: readonly EndedExecution[] }[]
  readonly logs: readonly LongLog[]
}

/** Bytes given back to the disk beyond the files removed. */
export interface Compaction {
  /** Bytes of the store's file. */
  readonly store: number
  /** Bytes of the embedded server's file. */
  readonly temporal: number
}

export interface HomeCleaning {
  /** Lists what may be removed. @param options.histories false does not ask the server, which starts it where it does not run */
  look(runs: readonly RunToClean[], options?: { readonly histories?: boolean }): Promise<Cleaning>
  remove(cleaning: Cleaning): Promise<Compaction>
}

/** @param now milliseconds since the epoch */
export function createCleaning(
  home: Home,
  store: Store,
  log: (line: string) => void,
  now: number,
): HomeCleaning {
  async function histories(runs: readonly RunToClean[]): Promise<Cleaning['histories']> {
    // A run cannot end before it began: mostly the server need not be asked.
    const old = runs.filter(({ created, config }) => created < historiesBefore(config, now))
    if (old.length === 0 || (process.env.TEMPORAL_ADDRESS === undefined && !existsSync(home.temporalFile)))
      return []
    return withServer(home.dir, { log }, async (client, server) => {
      const homeName = homeNameOn(server, store)
      const found: { run: RunId; executions: EndedExecution[] }[] = []
      for (const { run, config } of old)
        found.push({
          run,
          executions: await endedExecutions(client, { run, home: homeName }, historiesBefore(config, now)),
        })
      return found.filter(({ executions }) => executions.length > 0)
    })
  }

  return {
    async look(runs, options = {}) {
      const found: { run: RunId; removals: Removal[] }[] = []
      for (const { run, config } of runs) {
        const holdings = await holdingsOf({ run, store, directory: home.run(run) })
        found.push({ run, removals: planRetention(holdings, retentionPolicy(config), now) })
      }
      const limits = runs.map(({ config }) => config.retention.logMegabytes * megabyte)
      return {
        runs: found.filter(({ removals }) => removals.length > 0),
        histories: options.histories === false ? [] : await histories(runs),
        logs: limits.length === 0 ? [] : await longLogs(home.logsDir, Math.max(...limits)),
      }
    },

    async remove({ runs, histories: ended, logs }) {
      for (const { run, removals } of runs)
        await remove({ run, store, directory: home.run(run) }, removals, now)
      for (const long of logs) await shortenLog(long)
      if (ended.length > 0)
        await withServer(home.dir, { log }, async (client) => {
          for (const { executions } of ended) await forgetExecutions(client, executions)
        })
      return { store: await store.holdings.shrink(), temporal: await compactServerFile(home.dir) }
    },
  }
}
