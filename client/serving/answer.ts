/**
 * Answers of a served policy: a request, whatever its form, and the samples after its prompts.
 *
 * Invariants
 * - [SERVED-ANSWER-1] A prompt is used unchanged; an empty prompt, an unknown token id, or a prompt that leaves no room is
 *   refused.
 * - [SERVED-ANSWER-2] The same request with a seed gives the same answer.
 * - Log-probabilities are those at the asked temperature; at 0, those at 1.
 */
import { seedOf } from '../../identity/identity.ts'
import { chance } from '../../machine/services/chance.ts'
import { type Answer, type Answered, type Asked, mostTokens, type Wish } from '../../policy/endpoint/asked.ts'
import { RequestFault } from '../../policy/endpoint/request-fault.ts'
import type { SampledTokens } from '../../policy/engines/engine.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import { ChatFault } from '../../policy/templates/template.ts'
import type { Borrowed } from './loaded-versions.ts'
import type { ServedModel, ServedPolicy } from './served-policy.ts'

/** @param size characters of the request @throws RequestFault, EngineFault */
export async function answerTo(
  policy: ServedPolicy,
  asked: Asked,
  how: { readonly size: number; readonly signal: AbortSignal },
): Promise<Answered> {
  using borrowed = await modelOf(policy, asked.model ?? policy.run)
  const { model } = borrowed
  const { param, wish } = asked
  const answers = await Promise.all(
    asked.prompts.map(async (given): Promise<Answer> => {
      const prompt = await promptOf(policy, model, given, { ...how, param, isCounted: wish === undefined })
      if (wish === undefined) return { prompt, samples: [] }
      return { prompt, samples: await samplesAfter(policy, model, prompt, { ...how, param, wish }) }
    }),
  )
  return { model, answers }
}

/** The model that a request names, for as long as it uses it. @throws RequestFault `unknown_model` */
async function modelOf(policy: ServedPolicy, name: string): Promise<Borrowed<ServedModel>> {
  try {
    const borrowed = await policy.borrow(name)
    if (borrowed !== undefined) return borrowed
  } catch (error) {
    // The run may have removed the version after it was found.
    if (!(error instanceof CheckpointFault && error.kind === 'missing')) throw error
  }
  throw await unknownModel(policy, name)
}

export async function unknownModel(policy: ServedPolicy, name: string): Promise<RequestFault> {
  const names = await policy.names()
  return new RequestFault(
    'unknown_model',
    `the model \`${name}\` does not exist; there are ${names.join(', ')}`,
    'model',
  )
}

/** @throws RequestFault for words or ids that cannot be a prompt */
async function promptOf(
  policy: ServedPolicy,
  model: ServedModel,
  given: Asked['prompts'][number],
  {
    param,
    size,
    isCounted,
    signal,
  }: {
    readonly param: string
    readonly size: number
    readonly isCounted: boolean
    readonly signal: AbortSignal
  },
): Promise<Int32Array> {
  if ('ids' in given) {
    const unknown = given.ids.find((id) => !model.tokenizer.has(id))
    if (unknown === undefined) return Int32Array.from(given.ids)
    throw new RequestFault('bad_request', `\`${param}\`: there is no token ${unknown}`, param)
  }
  const most = isCounted ? mostTokens : model.contextLength - 1
  try {
    const prompt = await policy.encode(model, given, { size, most, signal })
    if (prompt !== undefined) return prompt
  } catch (cause) {
    if (cause instanceof ChatFault) throw new RequestFault('bad_request', cause.message, param, { cause })
    throw cause
  }
  throw tooLong(model, { param, found: 'more' })
}

/** The words are those by which agents know that they have to shorten a conversation. */
function tooLong(
  { contextLength }: ServedModel,
  { param, found }: { readonly param: string; readonly found: string },
): RequestFault {
  const bound = `the maximum context length is ${contextLength} tokens`
  return new RequestFault('too_long', `prompt is too long: ${bound}, and this request has ${found}`, param)
}

async function samplesAfter(
  policy: ServedPolicy,
  model: ServedModel,
  prompt: Int32Array,
  { param, wish, signal }: { readonly param: string; readonly wish: Wish; readonly signal: AbortSignal },
): Promise<readonly SampledTokens[]> {
  const room = model.contextLength - prompt.length
  const { maxTokens = room, temperature, seed, count, isCut = false, stopTokens = [] } = wish
  if (room < 1) throw tooLong(model, { param, found: `${prompt.length} in its prompt` })
  if (maxTokens > room && !isCut)
    throw tooLong(model, { param, found: `${prompt.length} in its prompt and asks for ${maxTokens}` })
  if (prompt.length === 0)
    throw new RequestFault(
      'bad_request',
      `\`${param}\`: it is empty, and the first token needs one before it`,
      param,
    )
  const drawn = seed ?? chance.below(2 ** 32)
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      policy.sample(
        model,
        {
          context: prompt,
          maxNewTokens: Math.min(maxTokens, room),
          temperature,
          seed: answerSeed(drawn, index),
          stopTokens: [...model.chat.stopTokens, ...stopTokens],
        },
        signal,
      ),
    ),
  )
}

/** The seed of an answer; every bit of the request's seed counts, and those of 32 bits are taken as they are. */
function answerSeed(seed: number, index: number): number {
  const high = Math.floor(seed / 2 ** 32)
  return high === 0 ? seedOf(seed, index) : seedOf(seed, index, high)
}
