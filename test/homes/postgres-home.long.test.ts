/** A home whose store is in PostgreSQL: the same run, byte for byte, and every command that reads it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openSession } from '../../client/session/training-session.ts'
import { runId } from '../../identity/identity.ts'
import { dropPlace, missingServer, newPlace } from '../../storage/postgres/database.testing.ts'
import { evenAnswer } from '../support/agent-programs.ts'
import { removeHome, startPerdureIn, temporaryHome } from '../support/perdure-process.ts'
import { tinyConfig } from '../support/tiny-run.ts'

const missing = await missingServer()
const run = runId('first')

/** Plays and trains with the embedded engine and trainer, each version from the one before. */
async function train(home: string): Promise<void> {
  await using session = await openSession({
    home,
    roles: 'all',
    log: () => undefined,
    findEnvironment: () => evenAnswer,
  })
  const rollout = { groupSize: 4, maxStaleness: 0, maxTokensPerTurn: 8 }
  await session.start(run, tinyConfig({ rollout, training: { updates: 3 } }, 'even-answer'))
  await session.result(run)
}

/** Digests of the files of each version that is kept. */
function manifests(home: string): Readonly<Record<string, string>> {
  const folder = join(home, 'runs', run, 'checkpoints')
  const versions = readdirSync(folder).sort()
  return Object.fromEntries(
    versions.map((version) => [version, readFileSync(join(folder, version, 'manifest.json'), 'utf8')]),
  )
}

describe.skipIf(missing !== undefined)(
  `a home in PostgreSQL${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    const inFile = temporaryHome()
    const inDatabase = temporaryHome()
    const place = newPlace()

    beforeAll(async () => {
      await train(inFile)
      vi.stubEnv('PERDURE_STORE', place)
      await train(inDatabase)
    }, 300_000)

    afterAll(async () => {
      vi.unstubAllEnvs()
      removeHome(inFile)
      removeHome(inDatabase)
      await dropPlace(place)
    })

    it('gives the same checkpoints as one in a file', () => {
      const { 0: first, 3: last } = manifests(inFile)
      expect(last).toBeDefined()
      expect(last).not.toBe(first)
      expect(manifests(inDatabase)).toEqual(manifests(inFile))
    })

    it.each([
      ['status', run, '--json'],
      ['runs', '--json'],
      ['metrics', run, '--json'],
      ['export', run, '--out', '-'],
      ['disk', '--json'],
    ])(
      'perdure %s answers',
      async (...words) => {
        const { code, stdout, stderr } = await startPerdureIn({ PERDURE_STORE: place }, inDatabase, ...words)
          .ended
        expect(stderr).not.toMatch(/error/)
        expect(code).toBe(0)
        expect(stdout).toContain(run)
      },
      120_000,
    )

    it('a home that has runs in a file is not opened with an address', async () => {
      const { code, stderr } = await startPerdureIn({ PERDURE_STORE: place }, inFile, 'resume', run).ended
      expect(code).toBe(2)
      expect(stderr).toContain('store.db')
    })
  },
)
