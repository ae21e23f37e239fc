/**
 * Records the tokens that transformers makes of conversations with models of the field: `node scripts/record/record-chat-tokens.ts PYTHON`.
 *
 * `policy/templates/model-template.test.ts` compares with them where transformers is not installed.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conversation, fieldChats, lookTool, talk } from '../../policy/templates/field-templates.testing.ts'
import { writeChatFolder } from '../../test/peers/chat-folders.ts'
import { renderedByTransformers } from '../../test/peers/transformers.ts'

const [python = 'python3'] = process.argv.slice(2)
const root = await mkdtemp(join(tmpdir(), 'perdure-chats-'))
try {
  const figures: Record<string, Record<string, string>> = {}
  for (const field of fieldChats) {
    const folder = await writeChatFolder(join(root, field.name), field)
    const [acting, talking] = await renderedByTransformers(python, [
      { folder, messages: conversation, tools: [lookTool] },
      { folder, messages: talk },
    ])
    figures[field.name] = { conversation: acting?.ids.join(' ') ?? '', talk: talking?.ids.join(' ') ?? '' }
  }
  const file = join(import.meta.dirname, '..', '..', 'policy', 'templates', 'field-templates.expected.json')
  await writeFile(file, `${JSON.stringify(figures, null, 2)}\n`)
} finally {
  await rm(root, { recursive: true, force: true })
}
