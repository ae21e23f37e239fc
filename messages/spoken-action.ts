/** An action as an environment hears it. */
import type { AssistantMessage } from './message.ts'

/** The action without its thoughts: an answer that the agent only considers is not given. */
export function spoken({ said, ...action }: AssistantMessage): AssistantMessage {
  return said === undefined ? action : { ...action, content: said }
}
