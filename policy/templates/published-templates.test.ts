import { expect, it } from 'vitest'
import type { Message } from '../../messages/message.ts'
import { Chat } from '../chat/chat.ts'
import { trainTokenizer } from '../tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../tokenizer/tokenizer.ts'
import { compactAddedTokens } from './compact-template.ts'
import { appended, conversation, lookTool, talk } from './field-templates.testing.ts'
import { publishedTemplates } from './published-templates.ts'
import { TemplateRendering } from './template-rendering.ts'

const added = {
  hermes: ['<|endoftext|>', '<|im_start|>', '<|im_end|>'].map((content) => ({ content, special: true })),
  compact: compactAddedTokens([lookTool]),
}
const several: readonly Message[] = [
  { role: 'user', content: 'Look at both.' },
  {
    role: 'assistant',
    content: 'I look.',
    tool_calls: [
      { name: 'look', arguments: { at: 'lamp' } },
      { name: 'go', arguments: { to: 'shelf', times: 2, slowly: true } },
    ],
  },
  { role: 'tool', name: 'look', content: 'a' },
  { role: 'tool', name: 'go', content: 'b' },
]

// [PUBLISHED-TEMPLATE-1]
it.each(['hermes', 'compact'] as const)(
  'the published template of %s gives the tokens of an episode',
  (format) => {
    const tokenizer = Tokenizer.parse(
      trainTokenizer(['a lamp'], { vocabularySize: 330, addedTokens: added[format] }),
    )
    const chat = new Chat(format, tokenizer)
    const rendering = new TemplateRendering({ template: publishedTemplates[format], tokens: {}, ends: [] })
    for (const messages of [conversation, talk, several])
      for (const tools of [[lookTool], undefined]) {
        const text = rendering.render(messages, { tools, prompt: true, argumentsAs: 'object' })
        expect([...tokenizer.encode(text)]).toEqual(appended(chat, messages, tools))
      }
  },
)
