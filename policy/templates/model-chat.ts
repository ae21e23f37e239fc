/**
 * How a published model talks, as its folder says: the chat template, the tokens that the template names, what ends an action.
 *
 * Invariants
 * - [MODEL-CHAT-1] A chat that is read from a folder, written to a checkpoint's files and read again is the same.
 * - [MODEL-CHAT-2] The template is the one that transformers takes for a conversation with tools, in each layout that it reads.
 * - A folder without a template has none: it is a base model.
 */
import { z } from 'zod'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import type { ChatFormat } from './chat-format.ts'

export interface ModelChat {
  /** Jinja, as transformers reads it. */
  readonly template: string
  /** Texts of the tokens that a template may name, by the names that it has for them, e.g. `bos_token`. */
  readonly tokens: Readonly<Record<string, string>>
  /** Ids of the tokens that end an action. */
  readonly ends: readonly number[]
}

export const templateFile = 'chat_template.jinja'

/** Further templates, a file each, under their names. */
const templateFolder = 'additional_chat_templates'

const templateEnding = '.jinja'
const defaultName = 'default'
export const tokenizerConfigFile = 'tokenizer_config.json'
const specialTokensFile = 'special_tokens_map.json'
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

const namedTemplates = z.array(z.looseObject({ name: z.string(), template: z.string() }))

const tokens = Object.fromEntries(tokenNames.map((name) => [name, token])) as Record<
  (typeof tokenNames)[number],
  typeof token
>

const tokenizerSchema = z.looseObject({
  chat_template: z.union([z.string(), namedTemplates]).nullish(),
  added_tokens_decoder: z.unknown().optional(),
  ...tokens,
})

const tokensSchema = z.looseObject(tokens)

const endsSchema = z.looseObject({
  eos_token_id: z
    .union([z.int().transform((id) => [id]), z.array(z.int())])
    .nullish()
    .transform((ids) => ids ?? []),
})

/** The files of a model, by their paths within its folder. */
export interface ModelFiles {
  /** Text of a file; undefined where there is none. */
  text(path: string): Promise<string | undefined>
  /** Names of the files in a folder; none where there is no such folder. */
  list(folder: string): Promise<readonly string[]>
}

/** How a policy talks, as its checkpoint or its publisher says. */
export interface SpokenChat {
  readonly chat: ChatFormat
  /** The chat of the format `jinja`. */
  readonly modelChat?: ModelChat | undefined
}

/**
 * Reads it from the files of a model.
 * @returns undefined where the model has no template
 * @throws CheckpointFault `corrupt` for a file that cannot be read, `foreign` where no template is the default
 */
export async function readModelChat(files: ModelFiles): Promise<ModelChat | undefined> {
  const textOf = (path: string) => files.text(path)
  const config = parsed(tokenizerConfigFile, await textOf(tokenizerConfigFile), tokenizerSchema)
  const template = chosen(await templatesOf(files, config?.chat_template ?? []))
  if (template === undefined) return undefined
  // Older folders name the tokens in a file of their own, which transformers reads where the configuration describes none.
  const older =
    config?.added_tokens_decoder === undefined
      ? parsed(specialTokensFile, await textOf(specialTokensFile), tokensSchema)
      : undefined
  const tokens: Record<string, string> = {}
  for (const name of tokenNames) {
    const text = older?.[name] ?? config?.[name]
    if (text !== undefined && text !== null) tokens[name] = text
  }
  const ends: number[] = []
  for (const name of [generationConfigFile, 'config.json'])
    ends.push(...(parsed(name, await textOf(name), endsSchema)?.eos_token_id ?? []))
  return { template, tokens, ends: [...new Set(ends)] }
}

/**
 * A model's templates by their names. As in transformers, a template in a file of its own replaces all those of the tokenizer's
 * configuration, and one in the folder replaces `chat_template.jinja` where both are the default.
 */
async function templatesOf(
  files: ModelFiles,
  configured: string | z.output<typeof namedTemplates>,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  const main = await files.text(templateFile)
  if (main !== undefined) found.set(defaultName, main)
  for (const file of await files.list(templateFolder)) {
    if (!file.endsWith(templateEnding)) continue
    const text = await files.text(`${templateFolder}/${file}`)
    if (text !== undefined) found.set(file.slice(0, -templateEnding.length), text)
  }
  if (found.size > 0) return found
  if (typeof configured === 'string') return new Map([[defaultName, configured]])
  return new Map(configured.map(({ name, template }) => [name, template]))
}

/** The template that transformers takes where there are tools. @throws CheckpointFault `foreign` */
function chosen(templates: ReadonlyMap<string, string>): string | undefined {
  const template = templates.get('tool_use') ?? templates.get(defaultName)
  if (template !== undefined || templates.size === 0) return template
  throw new CheckpointFault(
    'foreign',
    `its chat templates are ${[...templates.keys()].sort().join(', ')}: name one of them "tool_use" or "${defaultName}"`,
  )
}

function parsed<T>(name: string, text: string | undefined, schema: z.ZodType<T>): T | undefined {
  if (text === undefined) return undefined
  try {
    return schema.parse(JSON.parse(text))
  } catch (cause) {
    throw new CheckpointFault('corrupt', `${name} cannot be read`, { cause })
  }
}
