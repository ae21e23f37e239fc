import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { removeHome, temporaryHome } from '../../test/support/perdure-process.ts'
import { stateExperiment } from './stating.ts'

const home = temporaryHome()
afterAll(() => removeHome(home))

it('a measure that a measured task does not have is refused before the start, with those that it has', async () => {
  const file = join(home, 'guess.yaml')
  const base = resolve(import.meta.dirname, '../../examples/guess-number/train.yaml')
  writeFileSync(file, `name: guess\nbase: ${base}\narms: { usual: {} }\nseeds: [1]\nmeasure: { of: score }\n`)
  await expect(stateExperiment(file, { home, tasks: [] })).rejects.toThrow(
    '`measure.of` is "score": expected success, reward, turns, tokens, or a metric that guess-number declares: it declares none',
  )
})
