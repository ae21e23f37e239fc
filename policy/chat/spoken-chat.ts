/** How a policy talks, as its checkpoint or its publisher says. */
import type { ChatFormat } from './chat-format.ts'
import type { ModelChat } from './model-chat.ts'

export interface SpokenChat {
  readonly chat: ChatFormat
  /** Of the format `jinja`. */
  readonly modelChat?: ModelChat | undefined
}
