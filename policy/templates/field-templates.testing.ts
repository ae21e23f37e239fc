/**
 * Models of the field as tests know them: chat templates in the style of each family, a tokenizer, and a conversation.
 *
 * Invariants
 * - The templates are written for these tests; each has what makes its family particular.
 */
import type { AssistantMessage, Message, ToolSpec } from '../../messages/message.ts'
import { type Chat, createChat } from '../chat/chat.ts'
import { publishedTemplates } from '../checkpoints/serving-files.ts'
import { trainTokenizer } from '../tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../tokenizer/tokenizer.ts'
import type { ModelChat } from './model-chat.ts'

/** A published model without its weights. */
export interface FieldChat {
  readonly name: string
  /** The text of `tokenizer.json`. */
  readonly tokenizer: string
  readonly modelChat: ModelChat
}

/** Names its beginning, lists tools in the first message of the user, has one call as bare JSON, and an answer from `ipython`. */
const llama = `{{- bos_token }}
{%- set asked = namespace(first=true) %}
{%- for message in messages %}
{%- if message.tool_calls %}
{%- if message.tool_calls | length > 1 %}{{- raise_exception('one call at a time') }}{%- endif %}
{%- set call = message.tool_calls[0].function %}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n{"name": "' + call.name + '", "parameters": ' + (call.arguments | tojson) + '}<|eot_id|>' }}
{%- elif message.role == 'tool' %}
{{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' + (message.content | tojson) + '<|eot_id|>' }}
{%- else %}
{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' }}
{%- if message.role == 'user' and asked.first and tools %}
{%- set asked.first = false %}
{{- 'You may call:\\n\\n' }}
{%- for tool in tools %}{{- (tool | tojson(indent=4)) + '\\n\\n' }}{%- endfor %}
{%- endif %}
{{- (message.content | trim) + '<|eot_id|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}`

/** Takes turns strictly, has no prompt for an answer, lists tools before the last message of the user, and wants ids of calls. */
const mistral = `{%- if messages[0].role == 'system' %}
{%- set system = messages[0].content %}
{%- set rest = messages[1:] %}
{%- else %}
{%- set rest = messages %}
{%- endif %}
{%- set last = namespace(user=-1, users=0) %}
{%- for message in rest %}
{%- if message.role == 'system' %}{{- raise_exception('the system speaks first') }}{%- endif %}
{%- if message.role == 'user' or (message.role == 'assistant' and not message.tool_calls) %}
{%- if (message.role == 'user') != (last.users % 2 == 0) %}{{- raise_exception('user and assistant take turns') }}{%- endif %}
{%- set last.users = last.users + 1 %}
{%- endif %}
{%- if message.role == 'user' %}{%- set last.user = loop.index0 %}{%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in rest %}
{%- if message.role == 'user' %}
{%- if tools and loop.index0 == last.user %}
{{- '[AVAILABLE_TOOLS]' + (tools | tojson) + '[/AVAILABLE_TOOLS]' }}
{%- endif %}
{{- '[INST]' }}
{%- if loop.first and system is defined %}{{- system + '\\n\\n' }}{%- endif %}
{{- message.content + '[/INST]' }}
{%- elif message.tool_calls %}
{{- '[TOOL_CALLS][' }}
{%- for call in message.tool_calls %}
{%- if call.id | length != 9 %}{{- raise_exception('an id has nine characters') }}{%- endif %}
{{- '{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + ', "id": "' + call.id + '"}' }}
{%- if not loop.last %}{{- ', ' }}{%- endif %}
{%- endfor %}
{{- ']' + eos_token }}
{%- elif message.role == 'tool' %}
{{- '[TOOL_RESULTS]{"content": ' + (message.content | tojson) + ', "call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
{%- else %}
{{- ' ' + message.content + eos_token }}
{%- endif %}
{%- endfor %}`

/** Knows neither tools nor calls, and begins with a system message of its own. */
const smollm = `{%- for message in messages %}
{%- if loop.first and message.role != 'system' %}{{- '<|im_start|>system\\nYou help.<|im_end|>\\n' }}{%- endif %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`

/** Leaves out what was thought before the last message of the user; otherwise as Perdure's own format. */
const qwen3 = publishedTemplates.hermes
  .replace(
    `{%- for message in messages %}`,
    `{%- set last = namespace(user=-1) %}
{%- for message in messages %}{%- if message.role == 'user' %}{%- set last.user = loop.index0 %}{%- endif %}{%- endfor %}
{%- for message in messages %}`,
  )
  .replace(
    `{%- set said = message.content if message.content else '' %}`,
    `{%- set said = message.content if message.content else '' %}
{%- if message.role == 'assistant' and '</think>' in said and loop.index0 < last.user %}
{%- set said = said.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}`,
  )

const texts = [
  'You see a lamp and a shelf. The lamp is on the shelf.',
  '{"name": "look", "parameters": {"at": "the lamp"}}',
]

function fieldChat(
  name: string,
  given: {
    readonly template: string
    readonly special: readonly string[]
    readonly plain?: readonly string[]
  },
  tokens: ModelChat['tokens'],
): FieldChat {
  const { template, special, plain = [] } = given
  const tokenizer = trainTokenizer([...texts, ...texts], {
    vocabularySize: 340,
    addedTokens: [
      ...special.map((content) => ({ content, special: true })),
      ...plain.map((content) => ({ content, special: false })),
    ],
  })
  const end = Tokenizer.parse(tokenizer).addedToken(tokens.eos_token ?? '')
  return { name, tokenizer, modelChat: { template, tokens, ends: end === undefined ? [] : [end] } }
}

const chatMl = ['<|endoftext|>', '<|im_start|>', '<|im_end|>']
export const fieldChats: readonly FieldChat[] = [
  fieldChat(
    'llama',
    {
      template: llama,
      special: [
        '<|begin_of_text|>',
        '<|start_header_id|>',
        '<|end_header_id|>',
        '<|eot_id|>',
        '<|python_tag|>',
      ],
    },
    { bos_token: '<|begin_of_text|>', eos_token: '<|eot_id|>' },
  ),
  fieldChat(
    'mistral',
    {
      template: mistral,
      special: [
        ...['<s>', '</s>', '[INST]', '[/INST]', '[TOOL_CALLS]'],
        ...['[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]', '[TOOL_RESULTS]', '[/TOOL_RESULTS]'],
      ],
    },
    { bos_token: '<s>', eos_token: '</s>' },
  ),
  fieldChat(
    'qwen2',
    { template: publishedTemplates.hermes, special: chatMl, plain: ['<tool_call>', '</tool_call>'] },
    { eos_token: '<|im_end|>', pad_token: '<|endoftext|>' },
  ),
  fieldChat(
    'qwen3',
    { template: qwen3, special: chatMl, plain: ['<tool_call>', '</tool_call>', '<think>', '</think>'] },
    { eos_token: '<|im_end|>', pad_token: '<|endoftext|>' },
  ),
  fieldChat(
    'smollm2',
    { template: smollm, special: chatMl },
    { bos_token: '<|im_start|>', eos_token: '<|im_end|>', pad_token: '<|im_end|>' },
  ),
]

/** A chat of a family. */
export function openFieldChat(name: string): Promise<Chat> {
  const found = fieldChats.find((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no ${name}`)
  const { tokenizer, modelChat } = found
  return createChat({ chat: 'jinja', modelChat }, Tokenizer.parse(tokenizer))
}

export const lookTool: ToolSpec = {
  type: 'function',
  function: {
    name: 'look',
    description: 'Looks at a thing: "what you see" — é.',
    parameters: {
      type: 'object',
      properties: { at: { type: 'string', enum: ['lamp', 'shelf'] } },
      required: ['at'],
    },
  },
}
const looks = (at: string): AssistantMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: [{ name: 'look', arguments: { at } }],
})
const saw = (content: string): Message => ({ role: 'tool', name: 'look', content })

/** A conversation that every one of the templates can say as it is. */
export const conversation: readonly Message[] = [
  { role: 'system', content: 'You play a game.' },
  { role: 'user', content: 'What is on the shelf?\nLook: "carefully" — 日本.' },
  looks('shelf'),
  saw('a lamp\n{"on": true}'),
  looks('the "lamp"'),
  saw('it is on'),
]
/** The same without tools, and with a second question. */
export const talk: readonly Message[] = [
  { role: 'system', content: 'You play a game.' },
  { role: 'user', content: 'Who are you?' },
  { role: 'assistant', content: 'A player of the game.' },
  { role: 'user', content: 'Go on.' },
]

/** The tokens of a conversation as an episode appends them. */
export function appended(chat: Chat, messages: readonly Message[], tools?: readonly ToolSpec[]): number[] {
  const context: number[] = []
  let turn: Message[] = []
  let isFirst = true
  const close = () => {
    context.push(...chat.encodeTurn(context, turn, isFirst ? tools : undefined))
    turn = []
    isFirst = false
  }
  for (const message of messages)
    if (message.role === 'assistant') {
      close()
      context.push(...chat.encodeAssistant(message))
    } else turn.push(message)
  close()
  return context
}
