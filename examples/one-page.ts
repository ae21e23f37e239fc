/**
 * Reinforcement learning of a language-model agent on one page: sample, step, advantage, update, publish.
 *
 *   npm run one-page -- [KEY=VALUE …]     # e.g. training.updates=5
 *
 * A small policy learns to guess numbers (examples/guess-number), in a minute on two cores. The page calls the functions
 * of a run with the settings of smoke.yaml, and computes the same weights. A crash of the page costs everything.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { batchTensors } from '../activities/update/batch-tensors.ts'
import { imitate, prepareWarmStart } from '../activities/warm-start/warm-start.ts'
import { loadConfig } from '../config/files/loader.ts'
import { playAction } from '../envs/contract/played-action.ts'
import { loadEnvironment } from '../envs/external/loading.ts'
import { episodeId, evaluationId, groupId, type ParentId, runId, seedOfWork } from '../identity/identity.ts'
import { batchAdvantages } from '../learning/algorithms/batch-advantages.ts'
import { planBatch } from '../learning/algorithms/batch-plan.ts'
import { grpo } from '../learning/algorithms/grpo.ts'
import { type Outcome, outcomeAfter } from '../learning/evaluation/outcome.ts'
import { finalReward, rewardRules } from '../learning/evaluation/reward.ts'
import { openChat } from '../policy/chat/chat.ts'
import { createEmbeddedEngine } from '../policy/embedded-engine/embedded.ts'
import { writeUpdateBatch } from '../policy/trainer/batch-file.ts'
import { createTrainer } from '../policy/trainer/embedded.ts'
import { createHome, createRunDirectory } from '../storage/disk/home.ts'

const config = loadConfig({ file: `${import.meta.dirname}/smoke.yaml`, set: process.argv.slice(2) })
const { seed, policy, rollout, learning, training } = config
const { groupsPerUpdate, groupSize, temperature, maxTokensPerTurn } = rollout
const run = runId('one-page')
const directory = createRunDirectory(createHome(mkdtempSync(`${tmpdir()}/one-page-`)), run)
const definition = await loadEnvironment(`${import.meta.dirname}/guess-number`, 'guess-number')
const { turnLimit = definition.turnLimit } = config.tasks[0] ?? {}
const task = await definition.open({})
const trainer = createTrainer(policy)
const engine = await createEmbeddedEngine({ ...policy, maxBatch: 64 })
const range = (length: number) => Array.from({ length }, (_, index) => index)
const isWon = ({ reward }: { readonly reward: number }) => reward === 1

await imitateExpert()
const chat = await openChat(directory.checkpointDir(0))
await engine.load(0, directory.checkpointDir(0))
let version = 0
console.log(`version 0 wins ${await wins()} of 100 new games`)

for (let update = 1; update <= training.updates; update++) {
  // Sample and step: the episodes of a group play the same game.
  const groups = await Promise.all(
    range(groupsPerUpdate).map((place) => {
      const game = (update - 1) * groupsPerUpdate + place
      return Promise.all(range(groupSize).map((sample) => play(groupId(run, game), sample, 'train', game)))
    }),
  )

  // Advantage: by how much an episode was better than its siblings. A group of equal rewards stays out.
  const played = groups.map((episodes) => ({
    task: definition.name,
    rewards: episodes.map(({ reward }) => reward),
    actionTokens: episodes.map(({ lossMask }) => lossMask.filter((sampled) => sampled === 1).length),
  }))
  const plan = planBatch(played, batchAdvantages(grpo, played, learning), { ...learning, taskWeights: {} })
  const learnt = groups.flatMap((episodes, group) =>
    episodes
      .map((trajectory, sample) => ({ trajectory, advantages: plan.groups[group]?.advantages[sample] ?? [] }))
      .filter((_, sample) => plan.groups[group]?.inBatch[sample]),
  )
  console.log(`update ${update}: ${groups.flat().filter(isWon).length} of ${groups.flat().length} games won`)
  if (learnt.length === 0) continue

  // Update: the gradient of the objective over all sampled tokens, and one step of AdamW.
  await writeUpdateBatch(directory.batchFile(update), batchTensors(learnt))
  await trainer.update({
    batchFile: directory.batchFile(update),
    fromCheckpointDir: directory.checkpointDir(version),
    toCheckpointDir: directory.checkpointDir(version + 1),
    ...{ referenceCheckpointDir: directory.checkpointDir(0), version: version + 1 },
    objective: { ...learning, kind: 'policy', loss: 'clipped', temperature },
    ...{ optimizer: learning, microBatchTokens: learning.microBatchTokens },
  })

  // Publish: from now on, turns are sampled from the next version.
  await engine.load(version + 1, directory.checkpointDir(version + 1))
  await engine.unload(version++)
}
console.log(`version ${version} wins ${await wins()} of 100 new games: ${directory.checkpointDir(version)}`)
await Promise.all([engine.close(), trainer.close(), task.close()])

/** An episode of the current version: it samples an action and the game answers, until the game or a limit ends it. */
async function play(parent: ParentId, sample: number, split: 'train' | 'test', game: number) {
  const id = episodeId(parent, sample, 0)
  const environment = await task.create()
  let { messages } = await environment.reset(task.instanceAt(split, game))
  const tokens: number[] = []
  const logprobs = new Map<number, number>() // of the sampled tokens, by their place
  const turns: { readonly begin: number; readonly end: number }[] = []
  let [paid, invalidInARow] = [0, 0]
  let outcome: Outcome | null = null
  while (outcome === null) {
    const tools = turns.length === 0 ? environment.tools : undefined
    const room = policy.contextLength - tokens.length - maxTokensPerTurn
    const prompt = chat.encodeTurnWithin(room, tokens, messages, tools)
    outcome = prompt === undefined ? 'context_limit' : await playTurn(prompt)
  }
  engine.release(id)
  await environment.close()
  return {
    reward: finalReward(outcome, paid, rewardRules(config, definition.name)) ?? 0,
    turns,
    tokens: Int32Array.from(tokens),
    lossMask: Uint8Array.from(tokens, (_, place) => (logprobs.has(place) ? 1 : 0)),
    logprobs: Float32Array.from(tokens, (_, place) => logprobs.get(place) ?? 0),
    versions: Int32Array.from(tokens, (_, place) => (logprobs.has(place) ? version : -1)),
  }

  async function playTurn(prompt: Int32Array): Promise<Outcome | null> {
    const begin = tokens.push(...prompt)
    const sampled = await engine.sample({
      ...{ cacheKey: id, version, seed: seedOfWork(seed, id, turns.length) },
      ...{ context: Int32Array.from(tokens), borders: turns.map((turn) => turn.begin) },
      ...{ maxNewTokens: maxTokensPerTurn, stopTokens: chat.stopTokens },
      temperature: split === 'train' ? temperature : 0,
    })
    turns.push({ begin, end: tokens.push(...sampled.tokens) })
    for (const [place, logprob] of sampled.logprobs.entries()) logprobs.set(begin + place, logprob)
    const step = await playAction(environment, chat.parseAction(sampled.tokens))
    messages = step.messages
    paid += step.reward
    invalidInARow = step.invalid === true ? invalidInARow + 1 : 0
    const reported = step.done ? (step.outcome ?? 'completed') : null
    return outcomeAfter({ ...rollout, outcome: reported, invalidInARow, turns: turns.length, turnLimit })
  }
}

/** Plays 100 games that training never plays, by the most likely actions. @returns how many the current version wins */
async function wins(): Promise<number> {
  const suite = evaluationId(run, 'held_out', version, seed)
  return (await Promise.all(range(100).map((game) => play(suite, game, 'test', game)))).filter(isWon).length
}

/** Makes version 0 by imitating an expert: a policy that wins nothing has nothing to compare. */
async function imitateExpert(): Promise<void> {
  const open = async () => ({ definition, task })
  const opened = { run, config, directory, task: open, demonstrationTask: open }
  const onProgress = () => undefined
  const { signal } = new AbortController()
  const tools = { trainerOf: () => trainer, onProgress, onCorrection: onProgress, signal, log: console.log }
  await prepareWarmStart(opened, onProgress, signal)
  for (const part of range(config.warmStart.chunks)) await imitate(opened, part, tools)
}
