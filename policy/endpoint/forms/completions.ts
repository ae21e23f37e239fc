/** OpenAI's text completions. */
import { z } from 'zod'
import type { SampledTokens } from '../../engines/engine.ts'
import { textOf } from '../answer-words.ts'
import type { Answered, AnsweringModel } from '../asked.ts'
import type { Form } from './form.ts'
import {
  chunkEvents,
  completionShape,
  completionStream,
  newId,
  now,
  tokenName,
  usageOf,
  wishOf,
} from './openai.ts'
import { listOf, parseRequest, requestOf, tokenCount, tokenIds } from './request-body.ts'

const mostPrompts = 64

const several = <Prompt extends z.ZodType>(prompt: Prompt) =>
  listOf(prompt, mostPrompts).refine((list) => list.length > 0)

const schema = requestOf({
  ...completionShape,
  prompt: z.union([z.string(), tokenIds, several(z.string()), several(tokenIds)], {
    error: `expected a text, token ids, or at most ${mostPrompts} of either`,
  }),
  max_tokens: tokenCount.nullish(),
  logprobs: z.int().min(0).max(1).nullish(),
  echo: z.literal(false).nullish(),
  suffix: z.literal('').nullish(),
  best_of: z.literal(1).nullish(),
})

type CompletionRequest = z.output<typeof schema>

/** Tokens of an answer where a request names no number, as in OpenAI's API. */
const usualTokens = 16

export const completionsForm: Form = {
  ...completionStream,
  path: '/v1/completions',
  read(body) {
    const request = parseRequest(body, schema)
    return {
      asked: {
        model: request.model,
        prompts: promptsOf(request.prompt).map((prompt) =>
          typeof prompt === 'string' ? { text: prompt } : { ids: prompt },
        ),
        param: 'prompt',
        wish: wishOf(request, request.max_tokens ?? usualTokens),
      },
      isStreamed: request.stream === true,
      write: (answered) => written(request, answered),
    }
  },
}

/** The prompts of a request, each a text or ids. */
function promptsOf(prompt: CompletionRequest['prompt']): readonly (string | readonly number[])[] {
  if (typeof prompt === 'string') return [prompt]
  return prompt.every((one) => typeof one === 'number') ? [prompt] : prompt
}

function written(request: CompletionRequest, { model, answers }: Answered): string {
  const head = {
    id: newId('cmpl-'),
    object: 'text_completion',
    created: now(),
    model: request.model,
    system_fingerprint: model.id,
  }
  const asIds = request.return_tokens_as_token_ids === true
  const withIds = request.return_token_ids === true
  const choices = answers
    .flatMap(({ prompt, samples }) => samples.map((sample) => ({ prompt, sample })))
    .map(({ prompt, sample }, index) => ({
      index,
      text: textOf(model, sample),
      logprobs: request.logprobs == null ? null : completionLogprobs(model, sample, asIds),
      finish_reason: sample.finish,
      ...(withIds ? { prompt_token_ids: [...prompt], token_ids: [...sample.tokens] } : {}),
    }))
  const [first] = answers
  const promptIds = withIds && first !== undefined ? { prompt_token_ids: [...first.prompt] } : {}
  const usage = usageOf(answers)
  if (request.stream !== true) return JSON.stringify({ ...head, choices, usage, ...promptIds })
  const chunks = choices.map((choice) => ({ ...head, choices: [choice] }))
  return chunkEvents(chunks, request, { ...head, choices: [], usage })
}

function completionLogprobs(
  { tokenizer }: AnsweringModel,
  { tokens, logprobs }: SampledTokens,
  asIds: boolean,
) {
  let at = 0
  return {
    tokens: [...tokens].map((token) => tokenName(tokenizer, token, asIds)),
    token_logprobs: [...logprobs],
    top_logprobs: null,
    text_offset: [...tokens].map((token) => {
      const offset = at
      at += tokenizer.decode([token]).length
      return offset
    }),
  }
}
