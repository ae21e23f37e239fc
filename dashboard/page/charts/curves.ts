/**
 * The curves of a run, kept up to date.
 *
 * Invariants
 * - Only new points of a run are requested, until it is so long that the server thins it.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { RunCurves } from '../../contract/curves.ts'
import { curvesRoute } from '../../contract/routes.ts'
import type { Answered } from '../answer.ts'
import { ask, PageFault } from '../source.ts'
import { joined } from './joined.ts'

/** Beyond this length all curves are requested again, so that the server thins them. */
const mostUpdates = 20_000

/** @param reason any number that grows when there may be more */
export function useCurves(run: string, reason: number): Answered<RunCurves> {
  const known = useRef<RunCurves>(undefined)
  const [found, setFound] = useState<Answered<RunCurves>>({})
  useEffect(() => {
    const aborting = new AbortController()
    const before = known.current?.run === run && known.current.every === 1 ? known.current : undefined
    const last = before?.step.at(-1) ?? 0
    ask(curvesRoute(run, last > mostUpdates ? 0 : last), aborting.signal).then(
      (answer) => {
        known.current = before === undefined || last > mostUpdates ? answer : joined(before, answer)
        setFound({ answer: known.current })
      },
      (error: unknown) => {
        if (aborting.signal.aborted) return
        const fault = error instanceof PageFault ? error : new PageFault('unavailable', String(error))
        setFound({ answer: known.current, fault })
      },
    )
    return () => aborting.abort()
  }, [run, reason])
  return found
}
