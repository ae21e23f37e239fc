/**
 * Perdure's own formats in Jinja, for programs that serve a policy: transformers, vLLM, SGLang.
 *
 * Invariants
 * - [PUBLISHED-TEMPLATE-1] A conversation that is rendered by it is that which episodes have: tools, calls, answers and the prompt for an action.
 */
import type { BuiltInFormat } from './chat-format.ts'
import { afterTools, beforeTools } from './hermes-template.ts'

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
