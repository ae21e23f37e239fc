/** The plan of a run on machines whose rates are known. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { writePublishedModel } from '../../test/peers/published-model.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'perdure.mjs')
const folder = mkdtempSync(join(tmpdir(), 'perdure-plan-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function planned(...words: string[]) {
  return spawnSync(process.execPath, [program, 'train', ...words], { encoding: 'utf8', cwd: folder })
}

test('rates give hours and money, in words and as JSON', () => {
  const rates = ['--dry-run', '--flops', '1e9', '--tokens-per-second', '1000', '--price', '2']
  const { status, stdout } = planned(...rates, '--json')
  expect(status).toBe(0)
  const { plan } = JSON.parse(stdout)
  const { sampled, evaluated } = plan.tokens
  expect(plan.hours.sampling).toBeCloseTo((sampled + evaluated) / 1000 / 3600, 6)
  expect(plan.hours.training).toBeCloseTo(plan.operations.training / 1e9 / 3600, 6)
  expect(plan.cost).toBeCloseTo(2 * (plan.hours.sampling + plan.hours.training), 6)
  const words = planned(...rates).stdout
  expect(words).toMatch(
    /time +at most [\d.,]+ h to sample, [\d.,]+ h to train, together [\d.,]+ h, less where they overlap\n +cost +at most [\d.,]+\n$/,
  )
}, 60_000)

test('rates without a plan, and a price without hours, are refused', () => {
  expect(planned('--flops', '1e14').stderr).toContain('add --dry-run')
  expect(planned('--dry-run', '--price', '5').stderr).toContain('--price needs --flops')
  expect(planned('--dry-run', '--flops', 'many').stderr).toContain('Use a number above 0')
}, 60_000)

test('a context beyond the window of the model is refused by the plan already', async () => {
  await writePublishedModel(join(folder, 'model'))
  const at = (length: number) =>
    planned('--dry-run', '--set', 'policy.from=./model', '--set', `policy.contextLength=${length}`)
  const file = join(folder, 'model', 'config.json')
  const config = { ...JSON.parse(readFileSync(file, 'utf8')), model_type: 'mistral', sliding_window: 512 }
  writeFileSync(file, JSON.stringify(config))
  expect(at(1024).stderr).toContain('the last 512 tokens alone, and 1024 are asked for')
  expect(at(512).status).toBe(0)
}, 60_000)
