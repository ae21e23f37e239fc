/**
 * Actions of samples that are shown beside one another, in a few words.
 *
 * Invariants
 * - [SHOWN-ACTIONS-1] At a turn two actions have the same words exactly if the samples did the same; thoughts do not count.
 */
import { actionSummary } from '../../messages/action-summary.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { spoken } from '../../messages/spoken-action.ts'

/**
 * Different actions with the same summary, because what differs was cut off, are numbered.
 * @param samples [samples][turns] the stored actions
 * @returns [samples][turns]
 */
export function shownActions(samples: readonly (readonly string[])[]): readonly (readonly string[])[] {
  /** By turn and summary, the different actions. */
  const known = new Map<string, string[]>()
  return samples.map((actions) =>
    actions.map((json, turn) => {
      const { summary, done } = readAction(json)
      const key = `${turn} ${summary}`
      const same = known.get(key) ?? []
      known.set(key, same)
      if (!same.includes(done)) same.push(done)
      const number = same.indexOf(done) + 1
      return number === 1 ? summary : `${summary} (${number})`
    }),
  )
}

function readAction(json: string): { readonly summary: string; readonly done: string } {
  try {
    const message = JSON.parse(json) as AssistantMessage
    const { content, tool_calls: calls = [] } = spoken(message)
    const done = JSON.stringify(calls.length === 0 ? content : calls)
    return { summary: actionSummary(message), done }
  } catch {
    // A damaged action has no words; the trajectory's page says what is wrong with it.
    return { summary: '', done: json }
  }
}
