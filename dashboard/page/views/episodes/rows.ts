/**
 * Rows of the table of episodes: the stretches that are needed, as they arrive.
 *
 * Invariants
 * - Rows do not move while the table is scrolled: all stretches are of the moment of the first.
 * - Stretches that were seen are kept, a bounded number of them.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { EpisodeRow, EpisodeSort, EpisodesAnswer } from '../../../contract/episodes.ts'
import { episodesRoute } from '../../../contract/routes.ts'
import { stretchRows } from '../../parts/long-table.tsx'
import { ask, PageFault } from '../../source.ts'

const keptStretches = 60

interface Question {
  readonly filter: string
  readonly sort: EpisodeSort
  readonly descending: boolean
}

/** The loaded part of a table. */
export interface EpisodeRows {
  /** The first answer: how many there are, and what is wrong with the filter. */
  readonly head: Omit<EpisodesAnswer, 'rows'> | undefined
  readonly fault: PageFault | undefined
  /** Undefined where it has not arrived. */
  readonly at: (index: number) => EpisodeRow | undefined
  /** Asks for stretches that are not there yet. */
  readonly need: (stretches: readonly number[]) => void
}

interface Table {
  readonly question: string
  readonly stretches: Map<number, readonly EpisodeRow[]>
  readonly asked: Set<number>
  readonly aborting: AbortController
  head?: EpisodesAnswer
}

/** @param edition a larger one asks for the table as it is now */
export function useEpisodeRows(question: Question, edition: number): EpisodeRows {
  const key = JSON.stringify([question, edition])
  const table = useRef<Table>(undefined)
  const [fault, setFault] = useState<PageFault | undefined>(undefined)
  const [, setArrived] = useState(0)
  const [shown, setShown] = useState<Table | undefined>(undefined)

  async function fetchStretch(of: Table, stretch: number): Promise<void> {
    if (of.asked.has(stretch)) return
    of.asked.add(stretch)
    const mark = of.head === undefined ? {} : { mark: of.head.mark }
    const route = episodesRoute({ ...question, offset: stretch * stretchRows, limit: stretchRows, ...mark })
    try {
      const answer = await ask(route, of.aborting.signal)
      of.head ??= answer
      of.stretches.set(stretch, answer.rows)
      const [oldest] = of.stretches.keys()
      if (of.stretches.size > keptStretches && oldest !== undefined) {
        of.stretches.delete(oldest)
        of.asked.delete(oldest)
      }
      setFault(undefined)
      setShown(of)
      setArrived((arrived) => arrived + 1)
    } catch (error) {
      if (of.aborting.signal.aborted) return
      of.asked.delete(stretch)
      setFault(error instanceof PageFault ? error : new PageFault('unavailable', String(error)))
    }
  }

  useEffect(() => {
    const fresh: Table = {
      question: key,
      stretches: new Map(),
      asked: new Set(),
      aborting: new AbortController(),
    }
    table.current = fresh
    void fetchStretch(fresh, 0)
    return () => fresh.aborting.abort()
  }, [key])

  return {
    head: shown?.head,
    fault,
    at: (index) => shown?.stretches.get(Math.floor(index / stretchRows))?.[index % stretchRows],
    need: (stretches) => {
      const now = table.current
      // The first stretch says of which moment the others are.
      if (now?.head === undefined) return
      for (const stretch of stretches) void fetchStretch(now, stretch)
    },
  }
}
