/**
 * The formats of conversations that policies speak, by the names that checkpoints give them: two that come with Perdure, and
 * `jinja`, the model's own template.
 */
import { compactTemplate } from './compact-template.ts'
import { hermesTemplate } from './hermes-template.ts'
import type { ChatTemplate } from './template.ts'

const builtInFormats = ['hermes', 'compact'] as const
export type BuiltInFormat = (typeof builtInFormats)[number]

export const chatFormats = [...builtInFormats, 'jinja'] as const
export type ChatFormat = (typeof chatFormats)[number]

export const chatTemplates: Readonly<Record<BuiltInFormat, ChatTemplate>> = {
  hermes: hermesTemplate,
  compact: compactTemplate,
}
