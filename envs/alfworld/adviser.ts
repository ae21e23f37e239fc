/**
 * The expert as an adviser: it watches a household game that the policy plays with it.
 *
 * Invariants
 * - It reads the agent's observations, never the game's state.
 * - A call that played no command tells it nothing.
 */
import type { Adviser } from '../contract/environment.ts'
import { actionOf } from './demonstration.ts'
import type { Dialect } from './dialect.ts'
import { createExpert } from './expert.ts'
import { commandOf, observationIn } from './game-session.ts'

/** @param settings.thoughts whether it says before each command what is asked for and how far it is */
export function adviserOf(dialect: Dialect, { thoughts }: { readonly thoughts: boolean }): Adviser {
  const expert = createExpert(dialect)
  return {
    see({ messages }, action) {
      if (action === undefined) {
        expert.see(observationIn(messages.at(-1)?.content ?? ''))
        return
      }
      for (const [position, call] of (action.tool_calls ?? []).entries()) {
        const command = commandOf(call)
        const answer = messages[position]
        if (command !== undefined && answer !== undefined) expert.see(observationIn(answer.content), command)
      }
    },

    advise() {
      const intent = expert.next()
      return intent && actionOf(intent.command, thoughts ? intent.thought : '')
    },
  }
}
