/**
 * Files by which other programs serve a checkpoint: what ends an action, what the tokenizer is, how a conversation is rendered.
 *
 * Invariants
 * - [SERVING-1] `generation_config.json` names every token that ends an action, and `tokenizer_config.json` the first of
 *   them, as transformers and vLLM read them; so a server that was given the folder ends where Perdure does.
 * - [SERVING-2] `chat_template.jinja` renders conversations as episodes have them; a model's own template stays as it was given.
 * - A tokenizer without an end has none of the files.
 * - [PUBLISHED-TEMPLATE-1] A conversation that is rendered by it is that which episodes have: tools, calls, answers and the prompt for an action.
 */
import { z } from 'zod'
import { readJson } from '../../messages/read-json.ts'
import { type BuiltInFormat, chatTemplates } from '../templates/chat-format.ts'
import { afterTools, beforeTools } from '../templates/hermes-template.ts'
import {
  generationConfigFile,
  type ModelChat,
  type SpokenChat,
  templateFile,
  tokenizerConfigFile,
} from '../templates/model-chat.ts'
import type { Architecture } from '../transformer/architecture.ts'

const tokenSchema = z.looseObject({ id: z.int(), content: z.string() })
const tokenizerSchema = z.looseObject({ added_tokens: z.array(tokenSchema) })
type GivenToken = z.output<typeof tokenSchema>

/** Texts of the files by their names. @param tokenizer the text of `tokenizer.json` */
export function servingFiles(
  { max_position_embeddings }: Pick<Architecture, 'max_position_embeddings'>,
  tokenizer: string,
  spoken: SpokenChat,
): Readonly<Record<string, string>> {
  // Whether it is a tokenizer is said where it is used as one.
  const parsed = tokenizerSchema.safeParse(readJson(tokenizer))
  if (!parsed.success) return {}
  const { added_tokens: added } = parsed.data
  const { template, ends, tokens } = published(spoken, added)
  const [first] = ends
  if (first === undefined) return {}
  const idOf = (text: string | undefined) => added.find(({ content }) => content === text)?.id
  const textOf = (id: number) => added.find((token) => token.id === id)?.content
  const end = tokens.eos_token ?? textOf(first)
  return {
    [generationConfigFile]: render({ eos_token_id: ends, pad_token_id: idOf(tokens.pad_token) ?? first }),
    [tokenizerConfigFile]: render({
      tokenizer_class: 'PreTrainedTokenizerFast',
      ...tokens,
      eos_token: end,
      pad_token: tokens.pad_token ?? end,
      model_max_length: max_position_embeddings,
      clean_up_tokenization_spaces: false,
      add_bos_token: false,
    }),
    [templateFile]: template,
  }
}

/** The chat that a model brings, or the equivalent of a format that comes with Perdure. */
function published({ chat, modelChat }: SpokenChat, added: readonly GivenToken[]): ModelChat {
  if (chat === 'jinja') return modelChat ?? { template: '', tokens: {}, ends: [] }
  const { end, otherEnds } = chatTemplates[chat]
  const ends = [end, ...otherEnds].flatMap((text) =>
    added.filter(({ content }) => content === text).map(({ id }) => id),
  )
  return { template: publishedTemplates[chat], tokens: {}, ends }
}

function render(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

const hermes = String.raw`{%- if tools %}
{{- '<|im_start|>system\n' }}
{%- if messages and messages[0].role == 'system' %}
{{- messages[0].content + '\n\n' }}
{%- endif %}
{{- BEFORE }}
{%- for tool in tools %}
{{- '\n' + (tool | tojson) }}
{%- endfor %}
{{- AFTER + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'system' and loop.first and tools %}
{%- elif message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}
{{- '<|im_start|>user' }}
{%- endif %}
{{- '\n<tool_response>\n' + message.content + '\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- else %}
{%- set said = message.content if message.content else '' %}
{{- '<|im_start|>' + message.role + '\n' + said }}
{%- if message.tool_calls %}
{%- for tool_call in message.tool_calls %}
{%- set call = tool_call.function if tool_call.function else tool_call %}
{%- if said or not loop.first %}
{{- '\n' }}
{%- endif %}
{{- '<tool_call>\n{"name": ' + (call.name | tojson) + ', "arguments": ' + (call.arguments | tojson) + '}\n</tool_call>' }}
{%- endfor %}
{%- endif %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n' }}
{%- endif %}
`

const compact = `{%- for message in messages %}
{{- '<|' + message.role + '|>' }}
{{- message.content if message.content else '' }}
{%- if message.tool_calls %}
{%- for tool_call in message.tool_calls %}
{%- set call = tool_call.function if tool_call.function else tool_call %}
{{- '<tool_call>{"name":' + (call.name | tojson) + ',"arguments":' + (call.arguments | tojson(separators=(',', ':'))) + '}</tool_call>' }}
{%- endfor %}
{%- endif %}
{{- '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|assistant|>' }}
{%- endif %}
`

/** The text of `chat_template.jinja`, by the format of a policy. */
export const publishedTemplates: Readonly<Record<BuiltInFormat, string>> = {
  hermes: hermes.replace('BEFORE', () => quoted(beforeTools)).replace('AFTER', () => quoted(afterTools)),
  compact,
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
}
