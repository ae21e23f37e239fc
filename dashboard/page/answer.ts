/**
 * An answer of a route, for a view.
 *
 * Invariants
 * - A view that asks again shows what it had until the new answer is there.
 * - An answer that comes late, to a question that is no longer asked, is not shown.
 * - The last answers are kept, a bounded number of them: the way back is at once.
 */
import { useEffect, useState } from 'preact/hooks'
import { type AnswerRoute, ask, PageFault } from './source.ts'

/** The state of a question; both fields are absent at first. */
export interface Answered<Answer> {
  readonly answer?: Answer | undefined
  readonly fault?: PageFault | undefined
}

const keptAnswers = 30
const kept = new Map<string, unknown>()

/**
 * Asks a route, and again when the reason to ask changes.
 * @param route undefined: nothing is asked
 * @param reason any number that grows when there is something new
 */
export function useAnswer<Answer>(
  route: AnswerRoute<Answer> | undefined,
  reason: number | string = 0,
): Answered<Answer> {
  const [state, setState] = useState<{ route?: string | undefined; found: Answered<Answer> }>({ found: {} })
  useEffect(() => {
    if (route === undefined) return
    const aborting = new AbortController()
    ask(route, aborting.signal).then(
      (answer) => {
        keep(route, answer)
        setState({ route, found: { answer } })
      },
      (error: unknown) => {
        if (aborting.signal.aborted) return
        const fault = error instanceof PageFault ? error : new PageFault('unavailable', String(error))
        setState({ route, found: { answer: keptAnswer(route), fault } })
      },
    )
    return () => aborting.abort()
  }, [route, reason])
  if (route === undefined) return {}
  return state.route === route ? state.found : { answer: keptAnswer<Answer>(route) }
}

function keep(route: string, answer: unknown): void {
  kept.delete(route)
  kept.set(route, answer)
  const [oldest] = kept.keys()
  if (kept.size > keptAnswers && oldest !== undefined) kept.delete(oldest)
}

function keptAnswer<Answer>(route: string): Answer | undefined {
  // Kept under the route whose type says what it is.
  return kept.get(route) as Answer | undefined
}
