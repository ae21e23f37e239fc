import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type BuiltWorkflows, workflowBundle } from './workflow-bundle.ts'

const elsewhere = mkdtempSync(join(tmpdir(), 'perdure-bundle-'))
const sources = fileURLToPath(new URL('../..', import.meta.url))
let own: BuiltWorkflows

function copyTo(name: string): string {
  const root = join(elsewhere, name)
  for (const part of ['workflows', 'contract', 'learning', 'identity'])
    cpSync(join(sources, part), join(root, part), { recursive: true })
  return join(root, 'workflows')
}

beforeAll(async () => {
  symlinkSync(join(sources, 'node_modules'), join(elsewhere, 'node_modules'))
  own = await workflowBundle()
}, 300_000)

afterAll(() => rmSync(elsewhere, { recursive: true, force: true }))

it('every kind is the same build, and built once', async () => {
  const whole = await workflowBundle({ observed: true, encrypted: true })
  expect(whole.code).not.toBe(own.code)
  expect(whole.build).toBe(own.build)
  expect(own.build).toMatch(/^[0-9a-f]{12}$/)
  expect(await workflowBundle()).toBe(own)
}, 300_000)

it('the same code is the same build wherever it lies', async () => {
  const copy = await workflowBundle({ folder: copyTo('same') })
  expect(copy).not.toBe(own)
  expect(copy.build).toBe(own.build)
}, 300_000)

it('other code is another build', async () => {
  const folder = copyTo('other')
  const file = join(folder, 'play', 'rollout-group.ts')
  writeFileSync(file, readFileSync(file, 'utf8').replace("'run not reached'", "'run was not reached'"))
  expect((await workflowBundle({ folder })).build).not.toBe(own.build)
}, 300_000)
