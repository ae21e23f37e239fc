import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sharedData } from '../../test/support/shared-data.ts'
import type { Task } from '../contract/environment.ts'
import { type ReplayedLine, replayLines } from '../contract/replay.ts'
import { bfcl } from './definition.ts'
import { install } from './installation.ts'

const versions = ['v3', 'v4'].map((version) => sharedData('bfcl', version))
const missing = versions.some((dir) => !existsSync(dir))
/** `PERDURE_BFCL_ALL=1` compares every instance, which takes a minute or two. */
const every = (process.env.PERDURE_BFCL_ALL ?? '') === '' ? 25 : 1

const installation = await install(undefined, undefined).catch((fault: Error) => fault.message)

const referenceSchema = z.object({
  play: z.string(),
  line: z.string(),
  texts: z.array(z.string()),
  valid: z.boolean(),
})

// The suite needs Python and the package; where they cannot be had there is nothing to compare with.
describe.skipIf(typeof installation === 'string')('the official package', () => {
  const { python, site } = typeof installation === 'string' ? { python: '', site: '' } : installation
  const packaged = path.join(site, 'bfcl_eval', 'data')

  describe.each([packaged, ...versions.filter((dir) => existsSync(dir))])('with the data of %s', (dir) => {
    let task: Task
    beforeAll(async () => {
      task = await bfcl.open({ dataDir: dir, unlimited: true })
    })
    afterAll(() => task.close())

    test(
      'answers every call to the letter and gives every play its verdict, as it does run directly',
      async () => {
        const references = await playDirectly(python, site, dir)
        expect(references.length).toBeGreaterThan(90)
        expect(references.filter(({ play, valid }) => play === 'answer' && !valid).length).toBeLessThan(2)
        expect(references.some(({ play, valid }) => play !== 'answer' && !valid)).toBe(true)
        const answers = await replayed(
          task,
          references.map(({ line }) => line),
        )
        for (const [index, { play, texts, valid }] of references.entries()) {
          const answer = answers[index]
          if (answer === undefined || 'error' in answer) throw new Error(JSON.stringify(answer))
          const observed = answer.steps.flatMap(({ messages }) =>
            messages.flatMap((message) => (message.role === 'tool' ? [message.content] : [])),
          )
          expect(observed, `${answer.instance}, ${play}`).toEqual(texts)
          expect({ reward: answer.reward, outcome: answer.outcome }, `${answer.instance}, ${play}`).toEqual({
            reward: valid ? 1 : 0,
            outcome: 'completed',
          })
        }
      },
      every === 1 ? 600_000 : 60_000,
    )
  })

  test.skipIf(missing)('the one question whose answer does not fit it is named', async () => {
    const [v3 = '', v4 = ''] = versions
    expect((await bfcl.open({ dataDir: v3 })).warnings).toEqual([
      expect.stringContaining('multi_turn_base_154'),
    ])
    expect((await bfcl.open({ dataDir: v4 })).warnings).toEqual([])
  })
})

/** Plays of the package's own functions, without anything of ours. */
async function playDirectly(python: string, site: string, dir: string) {
  const script = path.join(import.meta.dirname, 'reference.py')
  const { stdout } = await promisify(execFile)(python, ['-I', '-B', script, site, dir, String(every)], {
    maxBuffer: 2 ** 30,
    env: { PATH: process.env.PATH, TZ: 'UTC', PYTHONHASHSEED: '0' },
  })
  const lines = stdout.trim().split('\n')
  return lines.map((line) => referenceSchema.parse(JSON.parse(line)))
}

async function replayed(task: Task, lines: readonly string[]): Promise<ReplayedLine[]> {
  async function* input(): AsyncGenerator<string> {
    yield* lines
  }
  const answers: ReplayedLine[] = []
  for await (const answer of replayLines(task, input())) answers.push(answer)
  return answers
}
