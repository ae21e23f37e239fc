/**
 * How a published model talks, as its folder says: the chat template, the tokens that the template names, what ends an action.
 *
 * Invariants
 * - [MODEL-CHAT-1] What is read from a folder, written to a checkpoint's files and read again is the same.
 * - A folder without a template has none: it is a base model.
 */
import { z } from 'zod'
import { CheckpointFault } from '../checkpoints/checkpoint-fault.ts'

export interface ModelChat {
  /** Jinja, as transformers reads it. */
  readonly template: string
  /** Texts of the tokens that a template may name, by the names that it has for them, e.g. `bos_token`. */
  readonly tokens: Readonly<Record<string, string>>
  /** Ids of the tokens that end an action. */
  readonly ends: readonly number[]
}

export const templateFile = 'chat_template.jinja'
export const tokenizerConfigFile = 'tokenizer_config.json'
export const generationConfigFile = 'generation_config.json'

const tokenNames = [
  'bos_token',
  'eos_token',
  'unk_token',
  'sep_token',
  'pad_token',
  'cls_token',
  'mask_token',
] as const
const token = z
  .union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)])
  .nullish()
/** Several templates have names; transformers takes `tool_use` where there are tools. */
const templates = z
  .array(z.looseObject({ name: z.string(), template: z.string() }))
  .transform(
    (named) =>
      (named.find(({ name }) => name === 'tool_use') ?? named.find(({ name }) => name === 'default'))
        ?.template,
  )
const tokenizerSchema = z.looseObject({
  chat_template: z.union([z.string(), templates]).nullish(),
  ...(Object.fromEntries(tokenNames.map((name) => [name, token])) as Record<
    (typeof tokenNames)[number],
    typeof token
  >),
})
const endsSchema = z.looseObject({
  eos_token_id: z
    .union([z.int().transform((id) => [id]), z.array(z.int())])
    .nullish()
    .transform((ids) => ids ?? []),
})

/**
 * Reads it from the texts of a folder.
 * @param textOf of a file by its name; undefined where there is none
 * @param idOf of a token by its text
 * @returns undefined where the folder has no template
 * @throws CheckpointFault `corrupt` for a file that cannot be read
 */
export async function readModelChat(
  textOf: (name: string) => Promise<string | undefined>,
): Promise<ModelChat | undefined> {
  const config = parsed(tokenizerConfigFile, await textOf(tokenizerConfigFile), tokenizerSchema)
  const template = (await textOf(templateFile)) ?? config?.chat_template
  if (template === undefined || template === null) return undefined
  const tokens: Record<string, string> = {}
  for (const name of tokenNames) {
    const text = config?.[name]
    if (text !== undefined && text !== null) tokens[name] = text
  }
  const ends: number[] = []
  for (const name of [generationConfigFile, 'config.json'])
    ends.push(...(parsed(name, await textOf(name), endsSchema)?.eos_token_id ?? []))
  return { template, tokens, ends: [...new Set(ends)] }
}

function parsed<T>(name: string, text: string | undefined, schema: z.ZodType<T>): T | undefined {
  if (text === undefined) return undefined
  try {
    return schema.parse(JSON.parse(text))
  } catch (cause) {
    throw new CheckpointFault('corrupt', `${name} cannot be read`, { cause })
  }
}
