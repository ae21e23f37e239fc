/**
 * Sources of answers: an endpoint, or a version of the run's own policy.
 *
 * Invariants
 * - Each failure is an `AskedModelFault` whose kind says what a try met.
 * - [ASKED-SOURCE-1] A version that is not there yet is the newest; the answer names the version that gave it.
 */
import { withSecrets } from '../../config/files/secrets.ts'
import type { AskedModelConfig } from '../../config/schema/asked-model-schema.ts'
import { AskedModelFault, type AskedRole, type QuestionMessage } from '../../envs/contract/question.ts'
import { type RunId, yieldsToTraining } from '../../identity/identity.ts'
import { clock } from '../../machine/services/clock.ts'
import { EngineFault } from '../../policy/engines/engine.ts'
import type { ChatAnswer } from '../../policy/served/chat-endpoint.ts'
import type { Store } from '../../storage/store.ts'
import type { QuestionKey } from '../../storage/trajectories/answers.ts'
import type { OpenRuns } from '../stored/open-runs.ts'
import type { Serving } from './serving.ts'

/** One try of a question. */
export interface Asked {
  readonly run: RunId
  readonly key: QuestionKey & { readonly role: AskedRole }
  readonly model: AskedModelConfig
  /** The configuration's key of the model. */
  readonly configKey: string
  readonly messages: readonly QuestionMessage[]
  /** From 0. */
  readonly try: number
  readonly seed: number
  readonly temperature: number
  /** Aborts when the answer is no longer wanted. */
  readonly signal: AbortSignal
}

export interface SourceDependencies {
  readonly store: Pick<Store, 'runs'>
  readonly runs: OpenRuns
  readonly serving: Pick<Serving, 'chat' | 'sample' | 'release'>
}

/** A source in words. */
export function sourceOf({ from }: Pick<AskedModelConfig, 'from'>): string {
  return from === 'policy' ? from : from.replace(/\/\/[^/@]*@/, '//')
}

/** @throws AskedModelFault; the reason of the signal where it aborts */
export async function answerFrom(dependencies: SourceDependencies, asked: Asked): Promise<ChatAnswer> {
  const { model, signal } = asked
  const tooLate = new AbortController()
  const timer = clock.after(model.timeoutSeconds * 1000, () => {
    tooLate.abort(new AskedModelFault('timed_out', `no answer within ${model.timeoutSeconds} s`))
  })
  const wanted = AbortSignal.any([signal, tooLate.signal])
  try {
    return model.from === 'policy'
      ? await askPolicy(dependencies, { ...asked, signal: wanted })
      : await askServer({ ...asked, signal: wanted })
  } catch (cause) {
    signal.throwIfAborted()
    tooLate.signal.throwIfAborted()
    throw faultOf(cause)
  } finally {
    timer.cancel()
  }
}

async function askServer(asked: Asked): Promise<ChatAnswer> {
  const { model, configKey, messages, temperature, seed, signal } = asked
  const { from, maxTokens, timeoutSeconds } = model
  const url = withSecrets(from, `${configKey}.from`)
  const apiKey = model.apiKey === undefined ? undefined : withSecrets(model.apiKey, `${configKey}.apiKey`)
  // A run that asks no endpoint does not load its client.
  const { askEndpoint } = await import('../../policy/served/chat-endpoint.ts')
  return await askEndpoint(
    { url, model: model.model ?? '', apiKey },
    // The signal ends it first, and says by what.
    { messages, temperature, maxTokens, seed, signal, answerMs: 2000 * timeoutSeconds },
  )
}

async function askPolicy({ store, runs, serving }: SourceDependencies, asked: Asked): Promise<ChatAnswer> {
  const { run, key, model, messages, temperature, seed, signal } = asked
  const { maxTokens } = model
  const chat = await serving.chat(run)
  const { config } = await runs.get(run)
  const context = chat.encodeTurnWithin(config.policy.contextLength - maxTokens, [], messages)
  if (context === undefined)
    throw new AskedModelFault(
      'too_long',
      `the question and ${maxTokens} tokens do not fit into the policy's context`,
    )
  const newest = (await store.runs.version(run)) ?? 0
  const version = Math.min(newest, typeof model.version === 'string' ? newest : (model.version ?? 0))
  const name = `${key.episode}/${key.role}${key.turn}.${key.number}`
  try {
    const { tokens, ...sampled } = await serving.sample(
      run,
      {
        ...{ id: `${name}-${asked.try}`, cacheKey: name, context, borders: [], version, temperature, seed },
        ...{ maxNewTokens: maxTokens, stopTokens: chat.stopTokens },
        exactVersion: model.version !== 'newest',
        background: yieldsToTraining(key.episode),
      },
      signal,
    )
    const { content, tool_calls: [call] = [] } = chat.parseAction(tokens).message
    const text = call === undefined ? content : JSON.stringify({ name: call.name, arguments: call.arguments })
    const counts = { promptTokens: context.length, completionTokens: tokens.length }
    return { text, model: `${run}@${sampled.version}`, ...counts }
  } finally {
    serving.release(run, name)
  }
}

const kinds: Partial<Record<EngineFault['kind'], AskedModelFault['kind']>> = {
  refused: 'refused',
  wrong_answer: 'bad_protocol',
  context_too_long: 'too_long',
}

/** A failure of another class is the framework's own, such as of a checkpoint or of the configuration. */
function faultOf(cause: unknown): unknown {
  return cause instanceof EngineFault
    ? new AskedModelFault(kinds[cause.kind] ?? 'unreachable', cause.message, { cause })
    : cause
}
