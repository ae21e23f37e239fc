/**
 * Where a model's own template renders a later turn otherwise than what was appended turn by turn.
 *
 * Invariants
 * - [DIFFERENCES-1] Each difference is reported once, with the place in both texts and what is done.
 */
import type { AssistantMessage, Message, ToolSpec } from '../../messages/message.ts'
import type { TextPart } from '../tokenizer/tokenizer.ts'
import { ChatFault, type ChatTemplate } from './template.ts'
import type { TemplateRendering } from './template-rendering.ts'
import { commonLength, probeTool } from './template-traits.ts'

/** A template turn by turn, and as it renders a conversation at once. */
interface ComparedTemplate extends Pick<ChatTemplate, 'turnParts' | 'assistantParts'> {
  conversation(messages: readonly Message[], tools: readonly ToolSpec[]): string
}

/** A short conversation: turns of the environment, each with the action that it was answered by. */
interface Probe {
  readonly name: string
  readonly turns: readonly (readonly [turn: readonly Message[], action?: AssistantMessage])[]
}

const system: Message = { role: 'system', content: 'Play the game.' }
const asks = (content: string): Message => ({ role: 'user', content })
const calls: AssistantMessage = {
  role: 'assistant',
  content: '',
  tool_calls: [{ name: probeTool.function.name, arguments: { zqxkey: 'lamp' } }],
}
const answers: Message = { role: 'tool', name: probeTool.function.name, content: 'A lamp.' }
const says = (content: string): AssistantMessage => ({ role: 'assistant', content })

const probes: readonly Probe[] = [
  {
    name: 'a tool call and its answer',
    turns: [[[system, asks('Begin.')], calls], [[answers], calls], [[answers]]],
  },
  {
    name: 'a second message of the user',
    turns: [[[system, asks('Begin.')], says('I look.')], [[asks('Go on.')]]],
  },
  {
    name: 'a message of the user after tool calls',
    turns: [[[asks('Begin.')], calls], [[answers], says('I see a lamp.')], [[asks('Go on.')]]],
  },
  {
    name: 'an action with thoughts',
    turns: [[[asks('Begin.')], says('<think>\nA lamp?\n</think>\n\nI look.')], [[asks('Go on.')]]],
  },
]

/** A sentence for each difference. */
export function differencesOf(template: ComparedTemplate, rendering: TemplateRendering): string[] {
  const found = probes.flatMap((probe) => {
    const difference = differenceIn(template, probe)
    return difference === undefined ? [] : [`after ${probe.name} the model's chat template ${difference}`]
  })
  if (rendering.askedForDate)
    found.push(
      "the model's chat template writes the date: it gets 1 January 2026 on every day, so that a run can be repeated",
    )
  return found
}

function differenceIn(template: ComparedTemplate, { turns }: Probe): string | undefined {
  const tools = [probeTool]
  try {
    let appended = ''
    for (const [index, [turn, action]] of turns.entries()) {
      appended += textOf(
        template.turnParts(turn, index === 0 ? 'empty' : 'closed', index === 0 ? tools : undefined),
      )
      if (action !== undefined) appended += textOf(template.assistantParts(action))
    }
    const messages = turns.flatMap(([turn, action]) => (action === undefined ? turn : [...turn, action]))
    const whole = template.conversation(messages, tools)
    if (whole === appended) return undefined
    const at = commonLength(whole, appended)
    return `renders ${excerpt(whole, at)} again where the conversation has ${excerpt(appended, at)}: the tokens that were sampled and appended stay as they are`
  } catch (cause) {
    if (cause instanceof ChatFault) return `cannot go on: ${cause.message}`
    throw cause
  }
}

function textOf(parts: readonly TextPart[]): string {
  return parts.map(({ text }) => text).join('')
}

function excerpt(text: string, at: number): string {
  return JSON.stringify(text.slice(Math.max(0, at - 24), at + 40))
}
