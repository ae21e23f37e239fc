/** Folders with tokenizer and chat template, as they are published. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FieldChat } from '../../policy/templates/field-templates.testing.ts'

/** Writes tokenizer and template as a publisher does; the older way has the template within the configuration. */
export async function writeChatFolder(
  folder: string,
  { tokenizer, modelChat: { template, tokens, ends } }: FieldChat,
  older = false,
): Promise<string> {
  await mkdir(folder, { recursive: true })
  const write = (name: string, text: string) => writeFile(join(folder, name), text)
  const config = {
    tokenizer_class: 'PreTrainedTokenizerFast',
    ...tokens,
    clean_up_tokenization_spaces: false,
  }
  await write('tokenizer.json', tokenizer)
  await write(
    'tokenizer_config.json',
    JSON.stringify(older ? { ...config, chat_template: template } : config),
  )
  await write('generation_config.json', JSON.stringify({ eos_token_id: ends }))
  if (!older) await write('chat_template.jinja', template)
  return folder
}
