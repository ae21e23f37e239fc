/** A run that is sampled by a module of the user's own. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { checkEngine } from '../../client/checks/start-check.ts'
import { openSession } from '../../client/session/training-session.ts'
import { configSchema } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import { createEchoTask } from '../support/echo-task.ts'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'
import { createCopyingTrainer, tinyConfig } from '../support/tiny-run.ts'

const home = temporaryHome()
afterAll(() => removeHome(home))

const asked = join(home, 'asked')
const engine = join(home, 'engine.ts')
writeFileSync(
  engine,
  `import { appendFileSync } from 'node:fs'
import type { EngineDefinition } from 'perdure'
import { embeddedEngine } from ${JSON.stringify(join(process.cwd(), 'policy/embedded-engine/embedded.ts'))}

/** Writes down the versions that it is asked for, and samples by the embedded engine. */
export const engine: EngineDefinition = {
  name: 'noting',
  capabilities: { versions: 'many', adapters: true, scoring: false, exact: false },
  async open(options) {
    const engine = await embeddedEngine.open(options)
    const sample = engine.sample.bind(engine)
    engine.sample = (request, signal) => {
      appendFileSync(${JSON.stringify(asked)}, \`\${request.version}\\n\`)
      return sample(request, signal)
    }
    return engine
  },
}
`,
)

test('a run is sampled by an engine that its configuration names', async () => {
  const { definition } = createEchoTask()
  await using session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    createTrainer: () => createCopyingTrainer(),
    findEnvironment: () => definition,
  })
  const run = runId('own')
  const config = tinyConfig({
    policy: { engine },
    rollout: { maxTokensPerTurn: 8 },
    training: { updates: 1 },
  })
  await session.start(run, config)
  expect(await session.result(run)).toMatchObject({ phase: 'done', step: 1 })
  const versions = readFileSync(asked, 'utf8').trim().split('\n')
  expect(versions.length).toBeGreaterThanOrEqual(4)
  expect(new Set(versions)).toContain('0')
}, 120_000)

test('a module that is no engine is refused before a run starts, by its key', async () => {
  const other = join(home, 'other.ts')
  const refusal = async (text: string) => {
    writeFileSync(other, text)
    return await checkEngine(configSchema.parse({ policy: { engine: other } })).catch(String)
  }
  expect(await refusal('export const engine = { name: "x", capabilities: {}, open: 7 }')).toMatch(
    /policy\.engine.*the engine `engine` of .*other\.ts is incomplete/,
  )
  const missing = configSchema.parse({ policy: { engine: join(home, 'nowhere.ts') } })
  await expect(checkEngine(missing)).rejects.toThrow(/policy\.engine.*nowhere\.ts does not exist/)
})

test('what an engine says of adapters is yes or no', async () => {
  const odd = join(home, 'odd.ts')
  const capabilities = '{ versions: "many", adapters: "some", scoring: false, exact: false }'
  writeFileSync(odd, `export const engine = { name: "x", capabilities: ${capabilities}, open() {} }`)
  await expect(checkEngine(configSchema.parse({ policy: { engine: odd } }))).rejects.toThrow(
    /policy\.engine.*adapters/,
  )
})

test('an engine that cannot do what a run needs is refused by the key that needs it', async () => {
  const alone = join(home, 'alone.ts')
  const capabilities = '{ versions: "latest", scoring: false, exact: false }'
  writeFileSync(alone, `export const engine = { name: "alone", capabilities: ${capabilities}, open() {} }`)
  const config = { policy: { engine: alone }, crossPolicy: { staleShare: 0.5 } }
  await expect(checkEngine(configSchema.parse(config))).rejects.toThrow(/crossPolicy\.staleShare.*alone/)
})
