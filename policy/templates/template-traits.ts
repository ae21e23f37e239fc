/**
 * The parts that a model's own template can render, found by rendering short conversations once.
 *
 * Invariants
 * - [TRAITS-1] Parts that a template refuses or leaves out are found before a run starts, never by a turn that fails.
 */
import { reasonOf } from '../../faults/reason.ts'
import type { AssistantMessage, Message, ToolSpec } from '../../messages/message.ts'
import { type CallSyntax, hermesSyntax, syntaxOf } from '../calls/call-syntax.ts'
import { marksWith, openThought, type ThoughtMarks, type ThoughtReading } from '../calls/thoughts.ts'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import type { GivenToken } from './outside-text.ts'
import { ChatFault } from './template.ts'
import type { RenderingOptions, TemplateRendering } from './template-rendering.ts'

export interface TemplateTraits {
  /** The token after an action. */
  readonly end: string
  /** The template's text between the prompt for an action and the agent's own text. */
  readonly lead: string
  readonly argumentsAs: RenderingOptions['argumentsAs']
  /** How thoughts are marked, and the thought that the prompt for an action opens. */
  readonly thoughts: ThoughtReading
  /** The text that ends this thought, for a template that renders actions without it. */
  readonly endOfThought: string
  /** How calls are written: the template's way, or Hermes' where `calls` is false. */
  readonly syntax: CallSyntax
  /** A system message first, and one later. */
  readonly system: boolean
  readonly laterSystem: boolean
  /** A list of tools. */
  readonly tools: boolean
  /** Calls of an action that can be read back; several of them in one action. */
  readonly calls: boolean
  readonly severalCalls: boolean
  readonly answers: boolean
  /** A message of the user after another one, and after an answer of a tool. */
  readonly userAfterUser: boolean
  readonly userAfterAnswer: boolean
}

/** A word that no template has, and that trimming and quoting leave as it is. */
export const probeWord = 'zqxword'
export const probeTool: ToolSpec = {
  type: 'function',
  function: {
    name: 'zqxtool',
    description: 'zqxabout',
    parameters: { type: 'object', properties: { zqxkey: { type: 'string', description: 'zqxabout' } } },
  },
}
const call = { name: 'zqxtool', arguments: { zqxkey: probeWord } }
const user: Message = { role: 'user', content: 'zqxasked' }
const said: Message = { role: 'assistant', content: probeWord }
const calling: AssistantMessage = { role: 'assistant', content: '', tool_calls: [call] }
const answer: Message = { role: 'tool', name: 'zqxtool', content: 'zqxanswer' }
const system: Message = { role: 'system', content: 'zqxsystem' }

/** A template and the tokenizer that it is for. */
interface Probed {
  readonly rendering: TemplateRendering
  readonly added: readonly GivenToken[]
  /** Texts of the tokens that end an action. */
  readonly ends: readonly string[]
}

/**
 * @throws CheckpointFault `foreign` for a template that renders no conversation, or whose actions have no end
 */
export function traitsOf(probed: Probed): TemplateTraits {
  const { rendering, added, ends } = probed
  const argumentsAs = (['object', 'text'] as const).find((form) =>
    contains(rendering, [user, calling], probeWord, { argumentsAs: form }),
  )
  const options = { prompt: false, argumentsAs: argumentsAs ?? 'object' } as const
  const whole = ofConversation(() => rendering.render([user, said], options))
  const prompt = rendering.render([user], { ...options, prompt: true })
  const thoughts = thoughtsOf(rendering, prompt, options)
  const syntax =
    argumentsAs === undefined ? undefined : readableSyntax(probed, options, prompt, thoughts.open)
  const can = (messages: readonly Message[], word: string) => contains(rendering, messages, word, options)
  const acted = syntax === undefined ? said : calling
  const end = endAfter(whole, added, ends)
  if (end === undefined)
    throw new CheckpointFault(
      'foreign',
      'its chat template ends an action with no token of the tokenizer, so the end of one cannot be recognised',
    )
  const asked = promptLength(prompt, whole, thoughts.open)
  const before = whole.slice(asked, Math.max(asked, whole.indexOf(probeWord)))
  const { open } = thoughts
  const endOfThought = open === undefined || before.includes(open.closing) ? '' : `\n${open.closing}\n\n`
  return {
    end: end.text,
    lead: endOfThought + before,
    thoughts,
    endOfThought,
    argumentsAs: options.argumentsAs,
    syntax: syntax ?? hermesSyntax,
    system: can([system, user], 'zqxsystem'),
    laterSystem: can([user, said, system], 'zqxsystem'),
    tools: contains(rendering, [user], 'zqxabout', { ...options, tools: [probeTool], prompt: true }),
    calls: syntax !== undefined,
    severalCalls:
      syntax !== undefined &&
      can([user, { ...calling, tool_calls: [call, { name: 'zqxtwo', arguments: {} }] }], 'zqxtwo'),
    answers: can([user, acted, answer], 'zqxanswer'),
    userAfterUser: can([user, { role: 'user', content: 'zqxmore' }], 'zqxmore'),
    userAfterAnswer: can([user, acted, answer, { role: 'user', content: 'zqxmore' }], 'zqxmore'),
  }
}

/** @throws CheckpointFault `foreign` */
function ofConversation(render: () => string): string {
  try {
    const text = render()
    if (text.includes(probeWord)) return text
  } catch (cause) {
    throw new CheckpointFault('foreign', `its chat template cannot be used: ${reasonOf(cause)}`, {
      cause,
    })
  }
  throw new CheckpointFault('foreign', 'its chat template leaves out what was said')
}

function contains(
  rendering: TemplateRendering,
  messages: readonly Message[],
  word: string,
  options: Partial<RenderingOptions>,
): boolean {
  try {
    return rendering.render(messages, { prompt: false, argumentsAs: 'object', ...options }).includes(word)
  } catch (cause) {
    if (cause instanceof ChatFault) return false
    throw cause
  }
}

function thoughtsOf(rendering: TemplateRendering, prompt: string, options: RenderingOptions): ThoughtReading {
  const marks = marksWith([...writtenMarks(rendering, prompt, options), ...droppedMarks(rendering, options)])
  return { marks, open: openThought(prompt.slice(prompt.lastIndexOf('zqxasked')), marks) }
}

/**
 * How much of a conversation with an action is the prompt for that action. A template may render an action without the thought that its
 * prompt opens, or with a thought of another shape.
 */
export function promptLength(prompt: string, whole: string, open: ThoughtMarks | undefined): number {
  const common = commonLength(prompt, whole)
  if (open === undefined || common === prompt.length) return common
  const start = Math.min(common, prompt.lastIndexOf(open.opening))
  return whole.startsWith(open.opening, start) ? start + open.opening.length : start
}

const thought = 'zqxthought'

/** The marks of thoughts as a template writes them. */
function writtenMarks(
  rendering: TemplateRendering,
  prompt: string,
  options: RenderingOptions,
): readonly ThoughtMarks[] {
  if (!contains(rendering, [user, said], thought, { ...options, thought })) return []
  const whole = rendering.render([user, said], { ...options, thought })
  const at = whole.indexOf(thought)
  const before = whole.slice(commonLength(prompt, whole), at).trim()
  // A prompt that opens the thought ends with its mark.
  const opening = wordsIn(before === '' ? whole.slice(0, at) : before).at(-1) ?? ''
  const [closing = ''] = wordsIn(whole.slice(at + thought.length, whole.indexOf(probeWord, at)))
  return opening === '' || closing === '' ? [] : [{ opening, closing }]
}

/** The marks of thoughts that a template takes out of earlier actions; it need not write any. */
function droppedMarks(rendering: TemplateRendering, options: RenderingOptions): readonly ThoughtMarks[] {
  const closings = rendering.quoted.filter((text) => text.includes('/') && !hermesSyntax.marks.includes(text))
  return [...new Set(closings)]
    .map((closing) => ({ opening: closing.replace('/', ''), closing }))
    .filter(({ opening, closing }) => {
      const content = `${opening}${thought}${closing}${probeWord}`
      const rest = [user, { role: 'assistant', content }, { role: 'user', content: 'zqxmore' }] as const
      return contains(rendering, rest, probeWord, options) && !contains(rendering, rest, thought, options)
    })
}

function wordsIn(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

/** The syntax of calls where what the template writes is read back as the same call. */
function readableSyntax(
  { rendering, ends, added }: Probed,
  options: RenderingOptions,
  prompt: string,
  open: ThoughtMarks | undefined,
): CallSyntax | undefined {
  const whole = rendering.render([user, calling], options)
  const start = promptLength(prompt, whole, open)
  const syntax = syntaxOf(whole.slice(start))
  const end = syntax && endAfter(whole, added, ends, syntax.marks)
  const read = end && syntax?.parse(whole.slice(start, end.at))
  return read?.problems.length === 0 && JSON.stringify(read.message.tool_calls) === JSON.stringify([call])
    ? syntax
    : undefined
}

/** How many characters two texts begin with alike. */
export function commonLength(one: string, other: string): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return length
}

/** The first control token after what was said. */
function endAfter(
  whole: string,
  added: readonly GivenToken[],
  ends: readonly string[],
  marks: readonly string[] = [],
): { readonly text: string; readonly at: number } | undefined {
  const from = whole.lastIndexOf(probeWord) + probeWord.length
  const special = added.filter((token) => token.special && !marks.includes(token.content))
  const [found] = [...ends, ...special.map(({ content }) => content)]
    .map((text) => ({ text, at: text === '' ? -1 : whole.indexOf(text, from) }))
    .filter(({ at }) => at !== -1)
    .sort((a, b) => a.at - b.at || b.text.length - a.text.length)
  return found
}
