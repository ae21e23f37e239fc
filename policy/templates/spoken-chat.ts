/** How a policy talks, as its checkpoint or its publisher says. */
import type { ChatFormat } from './chat-format.ts'
import type { ModelChat } from './model-chat.ts'

export interface SpokenChat {
  readonly chat: ChatFormat
  /** The chat of the format `jinja`. */
  readonly modelChat?: ModelChat | undefined
}
