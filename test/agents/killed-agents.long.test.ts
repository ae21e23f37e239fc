/**
 * Runs whose agents and workers are killed again and again, with real processes: agents by themselves, after each of their turns, and
 * the workers on which they play by `kill -9`. `PERDURE_AGENT_KILLS=200` kills 200 of each; by default there are few.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { resolveConfig } from '../../config/files/loader.ts'
import { type RunId, runId } from '../../identity/identity.ts'
import { isRewarded } from '../../learning/evaluation/outcome.ts'
import { readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { writeProgram } from '../support/agent-programs.ts'
import {
  eventually,
  type PerdureProcess,
  removeHome,
  startPerdure,
  temporaryHome,
} from '../support/perdure-process.ts'
import { tinyConfig } from '../support/tiny-run.ts'

/** Kills of agents, and as many of workers. */
const kills = Number(process.env.PERDURE_AGENT_KILLS ?? 5)
/** Turns of an episode, of which one is in a branch of its own; each sample of a group is killed after another one. */
const turns = 5
const groupSize = turns
const isFull = kills > groupSize
const groupsPerUpdate = isFull ? 8 : 1
const updates = Math.ceil(kills / (groupSize * groupsPerUpdate))
const workerCount = isFull ? 6 : 2
const home = temporaryHome()
const notes = mkdtempSync(join(tmpdir(), 'perdure-killed-agents-'))
const workers: PerdureProcess[] = []
let session: TrainingSession
let store: Store
let workersKilled = 0

/**
 * Keeps each answer that it gets, and kills itself once after the turn of its sample. It waits before each turn until workers were
 * killed as often as they are to be before. Its folder has the name of its episode.
 */
const program = `
import { basename } from 'node:path'
const { NOTES, PLAN } = process.env
const episode = basename(process.cwd())
const [, group, sample, attempt] = /\\.g(\\d+)\\.s(\\d+)\\.a(\\d+)$/.exec(episode).map(Number)
const once = (what) => {
  try { writeFileSync(NOTES + '/' + episode + '.' + what, '', { flag: 'wx' }); return true } catch { return false }
}
const asked = async (messages, turn) => {
  const body = await (await post('/chat/completions', { model: 'any', messages })).text()
  appendFileSync(NOTES + '/' + episode + '.answers', JSON.stringify([turn, body]) + '\\n')
  const dies = PLAN === 'kill' ? turn === sample : PLAN === 'diverge' && turn === 1 && attempt === 0
  if (dies && once('killed-' + turn)) process.kill(process.pid, 'SIGKILL')
  return JSON.parse(body).choices[0].message
}
appendFileSync(NOTES + '/' + episode + '.starts', '.')
const conversation = [{ role: 'user', content: task.prompt }]
let said = 0
for (let turn = 0; turn < ${turns}; turn++) {
  const stage = ${turns} * Math.floor(group / ${groupsPerUpdate}) + turn
  while (PLAN === 'kill' && !existsSync(NOTES + '/stage-' + stage)) await new Promise((resolve) => setTimeout(resolve, 100))
  if (turn === 2) {
    said += (await asked([{ role: 'user', content: 'Sum up: ' + conversation.at(-1).content }], turn)).content.length
    continue
  }
  if (turn === 1 && PLAN === 'diverge' && attempt === 0) conversation.push({ role: 'user', content: 'I am ' + process.pid })
  const answer = await asked(conversation, turn)
  said += answer.content.length
  conversation.push(answer, { role: 'user', content: 'And after turn ' + turn + '?' })
}
reward({ reward: said % 2 })
`

function startWorker(): PerdureProcess {
  return startPerdure(home, 'worker', '--role', 'policy')
}

/** Starts a run. @param plan what its agents do beside their turns */
async function start(run: RunId, plan: 'calm' | 'kill' | 'diverge'): Promise<void> {
  const folder = join(notes, plan)
  mkdirSync(folder)
  const command = writeProgram(notes, `agent-${plan}`, program)
  const base = tinyConfig({
    rollout: { groupSize, groupsPerUpdate, maxTokensPerTurn: 12, refill: 0, maxStaleness: 0 },
    training: { updates: plan === 'diverge' ? 1 : updates },
  })
  const from = fileURLToPath(new URL('../support/agent-programs.ts', import.meta.url))
  const agent = { command, reward: 'file', env: { NOTES: folder, PLAN: plan }, timeoutSeconds: 3600 } as const
  await session.start(run, resolveConfig({ ...base, tasks: [{ task: 'even-answer', from, agent }] }))
}

/** Whether programs play on a worker; known where the system lists the children of a process. */
function isPlaying({ child: { pid } }: PerdureProcess): boolean {
  const file = `/proc/${pid}/task/${pid}/children`
  return !existsSync(file) || readFileSync(file, 'utf8').trim() !== ''
}

/** Kills workers on which agents play, each time when these have got further. */
async function killWorkers(folder: string): Promise<void> {
  const size = () =>
    readdirSync(folder)
      .filter((name) => /\.(?:starts|answers)$/.test(name))
      .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  const stages = turns * updates
  for (let stage = 0; stage < stages; stage++) {
    for (; workersKilled < Math.floor(((stage + 1) * kills) / stages); workersKilled++) {
      const before = size()
      const playing = await eventually(
        'a start or an answer, and a worker on which agents play',
        () => (size() > before ? workers.find(isPlaying) : undefined),
        300_000,
      )
      await playing.killGroup()
      workers.splice(workers.indexOf(playing), 1)
      workers.push(startWorker())
    }
    writeFileSync(join(folder, `stage-${stage}`), '')
  }
}

beforeAll(async () => {
  session = await openSession({
    home,
    roles: ['orchestrator', 'environment', 'trainer'],
    log: () => undefined,
  })
  store = await openStore(homeAt(home).storeFile)
  for (let count = 0; count < workerCount; count++) workers.push(startWorker())
  await start(runId('calm'), 'calm')
  await session.result(runId('calm'))
  await start(runId('killed'), 'kill')
  await killWorkers(join(notes, 'kill'))
  await session.result(runId('killed'))
  await start(runId('diverging'), 'diverge')
  await session.result(runId('diverging'))
}, 5_400_000)

afterAll(async () => {
  for (const worker of workers) await worker.killGroup()
  await store?.close()
  await session?.close()
  removeHome(home)
  rmSync(notes, { recursive: true, force: true })
})

/** The sealed episodes of a run that count, by their place in it. */
async function playedIn(run: RunId) {
  const episodes = (await store.episodes.page(run, '', 10_000)).filter(({ seal }) => isRewarded(seal.outcome))
  const played = episodes.map(async ({ id, seal }) => {
    const actions = await store.actions.list(id)
    const turnsPlayed = actions.map(({ episode: _, asked, ...action }) => {
      const { answer: __, ...place } = asked ?? { answer: '' }
      return { ...action, ...place }
    })
    const place = id.slice(run.length).replace(/\/a\d+$/, '')
    return [place, { reward: seal.reward, outcome: seal.outcome, turns: turnsPlayed }] as const
  })
  return { ids: episodes.map(({ id }) => id), byPlace: Object.fromEntries(await Promise.all(played)) }
}

it('agents were killed after every turn, and workers as often', () => {
  const killed = readdirSync(join(notes, 'kill')).filter((name) => name.includes('.killed-'))
  expect(killed.length).toBeGreaterThanOrEqual(kills)
  expect(new Set(killed.map((name) => name.split('-').at(-1)))).toEqual(new Set(['0', '1', '2', '3', '4']))
  expect(workersKilled).toBe(kills)
})

// [AGENT-SESSION-1]
it('every trajectory is the same as without a kill, byte for byte, and so are the updates', async () => {
  const [calm, killed] = [await playedIn(runId('calm')), await playedIn(runId('killed'))]
  expect(Object.keys(calm.byPlace)).toHaveLength(groupSize * groupsPerUpdate * updates)
  for (const [place, { turns: played }] of Object.entries(calm.byPlace))
    expect(played, place).toHaveLength(turns)
  expect(killed.byPlace).toEqual(calm.byPlace)
  const learnt = async (run: RunId) =>
    (await store.metrics.list(run)).filter(isUpdateMetrics).map(({ grad_norm, reward, episodes }) => ({
      ...{ grad_norm, reward, episodes },
    }))
  expect(await learnt(runId('killed'))).toEqual(await learnt(runId('calm')))
  const weights = async (run: RunId) =>
    (await readCheckpoint(join(homeAt(home).run(run).checkpointsDir, `${updates}`))).weights
  expect(await weights(runId('killed'))).toEqual(await weights(runId('calm')))
})

it('a program that asked again got the answer that is stored: no turn was sampled twice, and no reward counted twice', async () => {
  const { ids } = await playedIn(runId('killed'))
  let again = 0
  for (const id of ids) {
    const stored = (await store.actions.list(id)).map(({ asked }) => asked?.answer)
    const lines = readFileSync(join(notes, 'kill', `${id.replaceAll('/', '.')}.answers`), 'utf8')
    const got = lines
      .trim()
      .split('\n')
      .map((line): [number, string] => JSON.parse(line))
    again += got.length - stored.length
    for (const [turn, body] of got) expect(body).toBe(stored[turn])
  }
  expect(again).toBeGreaterThan(kills)
  const consumed = (await store.updates.list(runId('killed'))).flatMap(({ groups }) => groups)
  expect(new Set(consumed).size).toBe(groupsPerUpdate * updates)
  expect(consumed).toHaveLength(groupsPerUpdate * updates)
})

// [TURN-TREE-2] [EPISODE-6]
it('every agent that asks for something else than before is reported as diverged, without a reward', async () => {
  const run = runId('diverging')
  const killed = readdirSync(join(notes, 'diverge')).filter((name) => name.endsWith('.killed-1'))
  const diverged = (await store.episodes.page(run, '', 10_000)).filter(
    ({ seal }) => seal.outcome === 'diverged',
  )
  expect(diverged.map(({ id }) => `${id.replaceAll('/', '.')}.killed-1`).toSorted()).toEqual(
    killed.toSorted(),
  )
  expect(diverged.length).toBeGreaterThanOrEqual(groupSize)
  for (const { seal } of diverged) expect(seal.reward).toBeNull()
})
