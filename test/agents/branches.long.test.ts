/**
 * A run of agents whose conversations branch: what it is trained on is what was sampled. `PERDURE_AGENT_TURNS=500` plays so many turns.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { configSchema } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import { Chat } from '../../policy/chat/chat.ts'
import { readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import type { UpdateBatch } from '../../policy/trainer/batch.ts'
import { readUpdateBatch } from '../../policy/trainer/batch-file.ts'
import { createTrainer } from '../../policy/trainer/embedded.ts'
import type { Trainer } from '../../policy/trainer/trainer.ts'
import { plainLogits, plainLogSoftmax } from '../../policy/transformer/plain-decoder.testing.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { evenAnswer, writeProgram } from '../support/agent-programs.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { tinyConfig } from '../support/tiny-run.ts'

/** Six turns in three branches: one that goes on, one that begins after its first turn, and one that quotes an answer elsewhere. */
const program = `
const user = (content) => ({ role: 'user', content })
const begun = [user(task.prompt)]
begun.push(await say(begun))
const first = [...begun, user('And then?')]
first.push(await say(first))
const second = [...begun, user('Otherwise?')]
second.push(await say(second))
const quoting = [user('(shortened)'), first[3], user('Go on.')]
const quoted = await post('/messages', { model: 'any', max_tokens: 12, system: 'Be short.', messages: quoting })
const text = (await quoted.json()).content.map(({ text }) => text).join('')
const third = await post('/responses', { model: 'any', input: [...first, user('And at last?')] })
if (!third.ok) throw new Error(await third.text())
await say([...second, user('And otherwise?')])
reward({ reward: (second[3].content.length + text.length) % 2 })
`
const turnsOfEpisode = 6
const groupSize = 4
const groupsPerUpdate = 2
const temperature = 0.9
const turns = Number(process.env.PERDURE_AGENT_TURNS ?? 96)
const updates = Math.ceil(turns / (turnsOfEpisode * groupSize * groupsPerUpdate))
const home = temporaryHome()
const run = runId('branching')
const directory = homeAt(home).run(run)
const tokenized = vi.spyOn(Chat.prototype, 'encodeAssistantWithin')
let session: TrainingSession
let store: Store

beforeAll(async () => {
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    findEnvironment: () => evenAnswer,
  })
  const command = writeProgram(home, 'branching', program)
  const config = tinyConfig({
    rollout: {
      groupSize,
      groupsPerUpdate,
      maxTokensPerTurn: 12,
      refill: 0,
      temperature: 0.9,
      maxStaleness: 0,
    },
    training: { updates },
    retention: { everyCheckpoint: 1, batches: updates },
  })
  const tasks = [{ task: 'even-answer', agent: { command, reward: 'file' } }]
  await session.start(run, configSchema.parse({ ...config, tasks }))
  await session.result(run)
  store = await openStore(homeAt(home).storeFile)
}, 900_000)

afterAll(async () => {
  await store?.close()
  await session?.close()
  removeHome(home)
})

// [AGENT-SESSION-2]
it('no answer was tokenized: also where it was sent back at another place, its tokens are those that were sampled', async () => {
  expect(tokenized).not.toHaveBeenCalled()
  const episodes = await store.episodes.page(run, '', 10_000)
  expect(episodes.length * turnsOfEpisode).toBeGreaterThanOrEqual(turns)
  for (const { id } of episodes) {
    const actions = await store.actions.list(id)
    const places = actions.map(({ asked }) => [asked?.branch, asked?.follows])
    expect(places).toEqual([
      [0, -1],
      [0, 0],
      [1, 0],
      [2, -1],
      [0, 1],
      [1, 2],
    ])
    expect(actions[3]?.prompt.join()).toContain(actions[1]?.tokens.join())
  }
})

/** Tokens of a batch that a version sampled: how far their log-probabilities are from those of the trainer, and of plain arithmetic. */
async function distances(
  trainer: Trainer,
  { tokens, offsets, behaviourLogprobs, versions }: UpdateBatch,
  version: number,
) {
  const checkpointDir = directory.checkpointDir(version)
  const lossMask = Uint8Array.from(versions, (each) => (each === version ? 1 : 0))
  const asked = { checkpointDir, tokens, offsets, lossMask, temperature, microBatchTokens: 2048 }
  const asTrained = await trainer.logprobs(asked)
  const { architecture, weights } = await readCheckpoint(checkpointDir)
  const precise = new Map([...weights].map(([name, data]) => [name, Float64Array.from(data)]))
  const found: { readonly trainer: number; readonly plain: number }[] = []
  for (const [sequence, begin] of offsets.slice(0, -1).entries()) {
    const ids = [...tokens.slice(begin, offsets[sequence + 1])]
    const logits = plainLogits(architecture, precise, ids)
    for (const [at, token] of ids.entries()) {
      if (lossMask[begin + at] === 0) continue
      const behaviour = behaviourLogprobs[begin + at] ?? Number.NaN
      const plain = plainLogSoftmax(logits[at - 1] ?? new Float64Array(), temperature)[token] ?? Number.NaN
      const trained = asTrained[begin + at] ?? Number.NaN
      found.push({ trainer: Math.abs(behaviour - trained), plain: Math.abs(behaviour - plain) })
    }
  }
  return found
}

// [SEQUENCES-1] 32-bit floats round at 6e-8 of a logit; the sums of so small a policy stay far below 1e-5.
it('the log-probabilities that are trained on are those of a forward pass over the tokens of the batch', async () => {
  const trainer = createTrainer({ threads: 1 })
  const found: Awaited<ReturnType<typeof distances>> = []
  for (const { step } of await store.updates.list(run)) {
    const batch = await readUpdateBatch(directory.batchFile(step))
    for (const version of new Set(batch.versions))
      if (version >= 0) found.push(...(await distances(trainer, batch, version)))
  }
  await trainer.close()
  const furthest = (of: 'trainer' | 'plain') => found.reduce((most, each) => Math.max(most, each[of]), 0)
  const episodes = (await store.episodes.page(run, '', 10_000)).length
  console.info(
    `${episodes * turnsOfEpisode} turns; ${found.length} tokens trained on; furthest from the trainer ${furthest('trainer')}, from plain arithmetic ${furthest('plain')}`,
  )
  expect(found.length).toBeGreaterThan(turns)
  expect(furthest('trainer')).toBeLessThan(1e-5)
  expect(furthest('plain')).toBeLessThan(1e-5)
}, 600_000)
