/**
 * How many episodes a table lacks because they came after it was asked for.
 *
 * Invariants
 * - Asked for at most once in `pause`, and only after episodes ended or updates were made.
 * - Zero where the table is of this moment, and for a table whose filter or moment has changed since.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { EpisodesAnswer } from '../../../contract/episodes.ts'
import { episodesRoute } from '../../../contract/routes.ts'
import { endedCount, news } from '../../live.ts'
import { ask } from '../../source.ts'

/** New episodes are only counted here, so this need not be quick. */
const pause = 10_000

/** @param head of the table; undefined before it has one */
export function useNewerEpisodes(
  filter: string,
  head: Pick<EpisodesAnswer, 'total' | 'mark'> | undefined,
): number {
  const [found, setFound] = useState<{ readonly of: string; readonly newer: number }>()
  const reason = `${news.value} ${endedCount.value}`
  const of = `${filter} ${head?.mark}`
  const asking = useRef<{ readonly of: string; isWaiting: boolean }>(undefined)
  const total = head?.total
  useEffect(() => {
    const own = { of, isWaiting: false }
    asking.current = own
    return () => {
      asking.current = undefined
    }
  }, [of])
  // The news at the time when the table was new.
  const first = useRef({ of: '', reason: '' })
  useEffect(() => {
    if (first.current.of !== of) first.current = { of, reason }
    const own = asking.current
    if (total === undefined || own === undefined || own.isWaiting || first.current.reason === reason) return
    own.isWaiting = true
    setTimeout(async () => {
      own.isWaiting = false
      if (asking.current !== own) return
      // The table itself says what is wrong.
      const now = await ask(episodesRoute({ filter, limit: 1 })).catch(() => undefined)
      if (now !== undefined) setFound({ of, newer: Math.max(0, now.total - total) })
    }, pause)
  }, [of, reason, total])
  return found?.of === of ? found.newer : 0
}
