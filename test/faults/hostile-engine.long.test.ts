/**
 * A run whose server hangs, lies and dies in the middle of it: the run ends, and what was learnt from is what the versions sampled.
 */
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { openSession } from '../../client/session/training-session.ts'
import { configSchema } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import { publishCheckpoint, readArchitecture, readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import {
  type HostileServer,
  silence,
  startHostileServer,
} from '../../policy/served/hostile-server.testing.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore } from '../../storage/store.ts'
import type { StoredAction } from '../../storage/trajectories/actions.ts'
import { freePort } from '../host/free-port.ts'
import { type SamplingServer, samplerDifference } from '../peers/foreign-run.ts'
import { startDialectServer } from '../peers/vllm-dialect.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
const [base, run] = [runId('base'), runId('hostile')]
const [contextLength, temperature] = [1024, 0.8]
let vocabulary = 0
let honest: SamplingServer | undefined
let server: HostileServer | undefined

/** Fault that replaces the answer to the turn of that number. */
const tricks = new Map<number, string>([
  [2, 'hangs'],
  [4, 'tells too few logprobs'],
  [6, 'tells an impossible logprob'],
  [8, 'samples tokens that do not exist'],
  [10, 'dies'],
])
const played: string[] = []
let turns = 0

// biome-ignore lint/suspicious/noExplicitAny: an answer of the honest server, which is spoilt
function spoil(answer: any, trick: string | undefined): unknown {
  const [choice] = answer.choices
  const { token_ids: tokens, logprobs } = choice
  if (trick === 'tells too few logprobs') logprobs.token_logprobs.pop()
  if (trick === 'tells an impossible logprob') logprobs.token_logprobs[0] = 3
  if (trick === 'samples tokens that do not exist') {
    tokens[0] = vocabulary + 7
    logprobs.tokens[0] = `token_id:${tokens[0]}`
  }
  return answer
}

/** Starts the honest server, and before it the one that spoils its answers. */
async function startServers(): Promise<HostileServer> {
  const port = await freePort()
  const start = () => startDialectServer({ vocabulary, contextLength, port })
  honest = await start()
  server = await startHostileServer(async ({ path, body }, response) => {
    const isTurn = path === '/v1/completions' && body.logprobs === 1
    const trick = isTurn ? tricks.get(++turns) : undefined
    if (trick !== undefined) played.push(trick)
    if (trick === 'hangs') return silence
    if (trick === 'dies') {
      await honest?.kill()
      honest = await start()
      return response.destroy()
    }
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const answered = await fetch(`http://127.0.0.1:${port}${path}`, sent).catch(() => undefined)
    if (answered === undefined) return response.destroy()
    response.statusCode = answered.status
    const text = await answered.text()
    return isTurn && answered.ok ? spoil(JSON.parse(text), trick) : response.end(text)
  })
  return server
}

afterAll(async () => {
  await server?.close()
  await honest?.kill()
  await removeHome(home)
})

/** A policy that finds some tokens likelier than others, as the canary needs it. */
async function publishBase(): Promise<string> {
  const fresh = await readCheckpoint(homeAt(home).run(base).checkpointDir(0))
  const surer = [...fresh.weights].map(
    ([name, data]) => [name, name.includes('embed') ? data.map((x) => 20 * x) : data] as const,
  )
  const dir = join(home, 'surer')
  await publishCheckpoint(dir, { ...fresh, weights: new Map(surer) })
  return dir
}

async function storedEpisodes(): Promise<readonly (readonly StoredAction[])[]> {
  await using store = await openStore(homeAt(home).storeFile, { create: false })
  const episodes = await store.episodes.page(run, '', 1000)
  return await Promise.all(episodes.map(({ id }) => store.actions.list(id)))
}

it('a run whose server hangs, lies and dies is done, and nothing that was wrong is stored', async () => {
  const { definition } = createEchoTask()
  await using session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => definition,
  })
  await session.start(base, tinyConfig({ training: { updates: 0 } }))
  await session.result(base)
  const from = await publishBase()
  vocabulary = (await readArchitecture(from)).vocab_size
  const { url: engineUrl } = await startServers()
  const config = configSchema.parse({
    tasks: [{ task: 'echo', turnLimit: 4 }],
    policy: {
      ...{ from, contextLength, lora: { rank: 2 } },
      ...{ engine: 'vllm', engineUrl, engineTimeoutSeconds: 5 },
    },
    rollout: { groupSize: 2, groupsPerUpdate: 2, maxTokensPerTurn: 8, refill: 0, temperature },
    warmStart: { demonstrations: 0 },
    training: { updates: 2 },
    evaluation: { every: 0, suites: [] },
  })
  await session.start(run, config)
  expect(await session.result(run)).toMatchObject({ phase: 'done', step: 2 })
  expect(played).toEqual([...tricks.values()])
  const episodes = await storedEpisodes()
  for (const actions of episodes) expect(actions.map(({ turn }) => turn)).toEqual(actions.map((_, at) => at))
  const found = await samplerDifference({ home, run }, { episodes }, temperature)
  expect(found.tokens).toBeGreaterThan(50)
  expect(found.mean).toBeLessThan(1e-5)
  expect(found.largest).toBeLessThan(1e-3)
}, 180_000)
