/** An experiment with a grid, on the real server: points first, then the arm as the best of them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { reportOn } from '../../client/experiment/experiment-report.ts'
import { knownExperiment } from '../../client/experiment/experiments.ts'
import { measureRuns } from '../../client/experiment/measured-runs.ts'
import { gradeCard } from '../../client/referee/card-grading.ts'
import { cardOf } from '../../client/referee/card-making.ts'
import { type ResultCard, readCard } from '../../client/referee/result-card.ts'
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { openWatched } from '../../envs/contract/watched-task.ts'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { tinyExperiment } from '../support/tiny-experiment.ts'
import { createCopyingTrainer, createSpeakingEngine, saying, sayYesOrNo } from '../support/tiny-run.ts'

const home = temporaryHome()
const { definition } = createEchoTask()
const tiny = tinyExperiment('tuned', { tune: { seeds: [7] } })
/** The second arm is tuned; its points make one update, and two. */
const statement = {
  ...tiny,
  arms: [
    ...tiny.arms.map((arm) => ({ ...arm, config: tiny.arms[0]?.config ?? arm.config })),
    ...tiny.arms.map((arm, at) => ({ ...arm, arm: `two-${at + 1}`, pointOf: 'two' })),
  ],
}
const [points, own] = [
  ['two-1.7', 'two-2.7'],
  ['one.1', 'two.1', 'one.2', 'two.2'],
].map((names) => names.map((name) => runId(`tuned.${name}`)))
let session: TrainingSession
let store: Store

beforeAll(async () => {
  store = await openStore(homeAt(home).storeFile)
  session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    // The second point always says yes, the others once in three.
    createEngine: () =>
      Promise.resolve(
        createSpeakingEngine((request) =>
          request.cacheKey.startsWith('tuned.two-2.') ? saying('yes') : sayYesOrNo(request),
        ),
      ),
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => definition,
  })
}, 120_000)

afterAll(async () => {
  await session?.close()
  await store?.close()
  removeHome(home)
})

async function reported() {
  const known = await knownExperiment(store, homeAt(home), 'tuned')
  return reportOn(await measureRuns(store, known.statement), known)
}

function grade(card: ResultCard) {
  const file = join(home, 'tuned.card.json')
  writeFileSync(file, JSON.stringify(card))
  return gradeCard(
    readCard(file),
    () => openWatched(definition, {}),
    () => undefined,
  )
}

it('runs the points, then its arms with what was chosen, and its card tells another choice from it', async () => {
  await session.beginExperiment(statement, { parallel: 2, elsewhere: own ?? [] })
  expect(await session.experimentResult('tuned', own)).toEqual(
    points?.map((run) => ({ run, status: 'done' })),
  )
  const tuned = await reported()
  expect(tuned.due).toEqual([7, 1, 2])
  expect(tuned.arms[1]).toMatchObject({ arm: 'two', chosen: 'two-2', suites: [] })
  expect(tuned.hypotheses).toMatchObject([{ missing: [1, 2] }])

  // Without the choice the arm is left out.
  await session.beginExperiment(statement, { parallel: 2 })
  await session.experimentResult(
    'tuned',
    own?.filter((run) => run.includes('.two.')),
  )
  expect((await store.runs.list()).map(({ id }) => id)).not.toContain('tuned.two.1')

  const choices = Object.fromEntries(tuned.arms.flatMap(({ arm, chosen }) => (chosen ? [[arm, chosen]] : [])))
  await session.beginExperiment(statement, { parallel: 2, choices })
  await session.experimentResult('tuned')
  for (const [at, run] of (own ?? []).entries())
    expect(await store.updates.list(run)).toHaveLength(1 + (at % 2))

  const report = await reported()
  expect(report.hypotheses).toMatchObject([{ missing: [], difference: 0 }])
  const card = await cardOf(store, statement, report, { perdure: 'this one', folder: home })
  expect(card.arms.map(({ arm, chosen }) => [arm, chosen]).slice(0, 2)).toEqual([
    ['one', undefined],
    ['two', 'two-2'],
  ])
  expect(card.arms[1]?.configuration).toBe(card.arms[3]?.configuration)
  expect(await grade(card)).toMatchObject({ claims: 1 })
  const arms = card.arms.map((arm) => (arm.arm === 'two' ? { ...arm, chosen: 'two-1' } : arm))
  await expect(grade({ ...card, arms })).rejects.toThrow(
    'arm two is the point two-2 by its episodes, and the card says two-1',
  )
}, 240_000)
