/**
 * Files by which other programs serve a checkpoint: what ends an action, what the tokenizer is, how a conversation is rendered.
 *
 * Invariants
 * - [SERVING-1] `generation_config.json` names every token that ends an action, and `tokenizer_config.json` the first of
 *   them, as transformers and vLLM read them; so a server that was given the folder ends where Perdure does.
 * - [SERVING-2] `chat_template.jinja` renders conversations as episodes have them; a model's own template stays as it was given.
 * - A tokenizer without an end has none of the files.
 */
import { z } from 'zod'
import { chatTemplates } from '../templates/chat-format.ts'
import {
  generationConfigFile,
  type ModelChat,
  templateFile,
  tokenizerConfigFile,
} from '../templates/model-chat.ts'
import { publishedTemplates } from '../templates/published-templates.ts'
import type { SpokenChat } from '../templates/spoken-chat.ts'
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
  const parsed = tokenizerSchema.safeParse(jsonOf(tokenizer))
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

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // whether it is a tokenizer is said where it is used as one
  }
}

function render(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
