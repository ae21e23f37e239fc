/**
 * Runs in miniature: real server, workflows, activities, store and checkpoints; the policy answers from a
 * script and the trainer copies weights, so that a test waits for nothing but what it tests.
 */

import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { configSchema, type RunConfig } from '../../config/schema/schema.ts'
import type { EnvironmentDefinition } from '../../envs/contract/environment.ts'
import { parseEpisodeId } from '../../identity/identity.ts'
import { noTrainerFigures } from '../../learning/run/trainer-figures.ts'
import { type Chat, openChat } from '../../policy/chat/chat.ts'
import { publishCheckpoint, readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import type { Engine, SamplingRequest } from '../../policy/engines/engine.ts'
import { createScriptedEngine, unlessAborted } from '../../policy/engines/scripted.testing.ts'
import type { Trainer, UpdateRequest } from '../../policy/trainer/trainer.ts'

type Section = Readonly<Record<string, unknown>>

/** Three updates of two groups of two on the echo task, whatever they teach; sections given replace single values. */
export function tinyConfig(sections: Readonly<Record<string, Section>> = {}, task = 'echo'): RunConfig {
  const base: Record<string, Section> = {
    rollout: { groupSize: 2, groupsPerUpdate: 2, maxTokensPerTurn: 64, refill: 0 },
    policy: {
      hiddenSize: 8,
      layers: 1,
      heads: 1,
      keyValueHeads: 1,
      intermediateSize: 8,
      vocabularySize: 300,
      contextLength: 1024,
    },
    warmStart: { demonstrations: 0 },
    training: { updates: 3 },
    evaluation: { every: 0, suites: [] },
  }
  const merged = Object.keys({ ...base, ...sections }).map((key) => [key, { ...base[key], ...sections[key] }])
  return configSchema.parse({ tasks: [{ task }], ...Object.fromEntries(merged) })
}

/** The policy's action: tokens as they are, or a text that the run's own tokenizer encodes. */
export type Speech = (
  request: SamplingRequest,
  chat: Chat,
) => string | readonly number[] | Promise<string | readonly number[]>

/** An engine that speaks. */
export function createSpeakingEngine(speak: Speech): Engine {
  let chat: Promise<Chat> | undefined
  const engine = createScriptedEngine(async (request) => {
    if (chat === undefined) throw new RangeError('no version was loaded')
    const speech = await speak(request, await chat)
    return typeof speech === 'string' ? tokensOf(await chat, speech) : speech
  })
  const load = engine.load.bind(engine)
  engine.load = async (version, dir) => {
    chat ??= openChat(dir)
    await load(version, dir)
  }
  return engine
}

/** Tokens of a text, none of them a control token, and the end of the message. */
export function tokensOf(chat: Chat, content: string): readonly number[] {
  return [...chat.encodeAssistant({ role: 'assistant', content })]
}

/** A call of the echo task's tool. */
export function saying(word: string): string {
  return `<tool_call>{"name":"say","arguments":{"word":${JSON.stringify(word)}}}</tool_call>`
}

/** The first sample of every group succeeds, the others do not, so that every group carries a preference. */
export function sayYesOrNo({ cacheKey }: SamplingRequest): string {
  return saying(parseEpisodeId(cacheKey).sample === 0 ? 'yes' : 'no')
}

/** A trainer whose update is a copy. */
export function createCopyingTrainer(
  beforeUpdate: (request: UpdateRequest) => Promise<void> = async () => undefined,
): Trainer {
  async function copy(from: string, to: string, version: number): Promise<void> {
    const content = await readCheckpoint(from)
    const { step } = content.state
    await publishCheckpoint(to, { ...content, state: { ...content.state, version, step: step + 1 } })
  }
  return {
    async update(request, _progress, signal) {
      const { fromCheckpointDir, toCheckpointDir, version } = request
      await unlessAborted(beforeUpdate(request), signal)
      await copy(fromCheckpointDir, toCheckpointDir, version)
      return { ...noTrainerFigures, actionTokens: 0, tokens: 0, seconds: 0 }
    },
    async warmStart({ fromCheckpointDir, toCheckpointDir, version }) {
      await copy(fromCheckpointDir, toCheckpointDir, version)
      return { loss: 0, lastLoss: 0, gradientNorm: 0, actionTokens: 0, tokens: 0, seconds: 0 }
    },
    logprobs: ({ tokens }) => Promise.resolve(new Float32Array(tokens.length)),
    values: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  }
}

/** Something that others wait for until it is opened. */
export interface Gate {
  readonly passed: Promise<void>
  open(): void
}

export function createGate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { passed: promise, open: resolve }
}

/** A session whose policy says yes or no, with all workers and one task. */
export function openTinySession(home: string, definition: EnvironmentDefinition): Promise<TrainingSession> {
  return openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createEngine: () => Promise.resolve(createSpeakingEngine(sayYesOrNo)),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => definition,
  })
}
