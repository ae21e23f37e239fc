/** The dependency rules catch what they forbid: each rule meets a planted violation. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')

/** File, its text, and the rules that it breaks. */
const planted: readonly (readonly [string, string, readonly string[]])[] = [
  ['src/identity.ts', 'export const identity = 1', []],
  ['src/learning/staleness.ts', `import { z } from 'zod'\nexport const learned = z`, ['learning-is-pure']],
  [
    'src/learning/clock.ts',
    `import { hrtime } from 'node:process'\nexport const now = hrtime`,
    ['learning-is-pure'],
  ],
  ['src/activities/sampling.ts', 'export type Sampling = 1\nexport const sampling = 1', []],
  [
    'src/workflows/good.ts',
    `import { proxyActivities } from '@temporalio/workflow'
import type { Sampling } from '../activities/sampling.ts'
import { identity } from '../identity.ts'
export const good: Sampling = proxyActivities && identity`,
    [],
  ],
  [
    'src/workflows/runs-activity.ts',
    `import { sampling } from '../activities/sampling.ts'\nexport const bad = sampling`,
    ['workflows-run-time'],
  ],
  [
    'src/workflows/knows-storage.ts',
    `import type { Store } from '../storage/store.ts'\nexport type Bad = Store`,
    ['workflows-types'],
  ],
  ['src/workflows/parses.ts', `import { z } from 'zod'\nexport const bad = z`, ['workflows-packages']],
  [
    'src/workflows/reads.ts',
    `import { readFile } from 'node:fs'\nexport const bad = readFile`,
    ['workflows-packages'],
  ],
  [
    'src/storage/store.ts',
    `import { sampling } from '../activities/sampling.ts'\nexport type Store = 1\nexport const bad = sampling`,
    ['storage-arrows'],
  ],
  ['src/envs/os/session.ts', `import { p } from '../../policy/p.ts'\nexport const bad = p`, ['envs-arrows']],
  [
    'src/config/schema.ts',
    `import { s } from '../envs/os/session.ts'\nexport const bad = s`,
    ['config-arrows'],
  ],
  [
    'src/policy/p.ts',
    `import { InferenceSession } from 'onnxruntime-node'\nexport const p = InferenceSession`,
    ['one-door-to-onnxruntime'],
  ],
  ['src/policy/graph/runtime.ts', `import { Tensor } from 'onnxruntime-node'\nexport const t = Tensor`, []],
  [
    'src/policy/q.ts',
    `import { good } from '../workflows/good.ts'\nexport function f() {\n  using held = good\n  return held\n}`,
    ['policy-arrows'],
  ],
  [
    'src/workers/w.ts',
    `import { page } from '../dashboard/page.ts'\nexport const w = page`,
    ['workers-arrows'],
  ],
  [
    'src/dashboard/page.ts',
    `import fc from 'fast-check'\nexport const page = fc`,
    ['no-development-packages'],
  ],
  // A cycle is reported once, at one of its files.
  ['src/cli/a.ts', `import { b } from './b.ts'\nexport const a = () => b`, ['no-cycles']],
  ['src/cli/b.ts', `import { a } from './a.ts'\nexport const b = () => a`, []],
  ['src/cli/lost.ts', `import { c } from './nowhere.ts'\nexport const lost = c`, ['everything-resolves']],
  [
    'src/cli/tested.ts',
    `import { t } from './t.test.ts'\nexport const tested = t`,
    ['nothing-imports-tests'],
  ],
  ['src/cli/t.test.ts', 'export const t = 1', []],
]

let folder: string
let found: Map<string, Set<string>>

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-arrows-'))
  for (const [file, text] of planted) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), `${text}\n`)
  }
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({
      type: 'module',
      dependencies: { zod: '*', 'onnxruntime-node': '*', '@temporalio/workflow': '*' },
      devDependencies: { 'fast-check': '*' },
    }),
  )
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  found = cruise()
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each(planted.map(([file, , rules]) => [file, rules] as const))('%s breaks exactly %j', (file, rules) => {
  expect([...(found.get(file) ?? [])].sort()).toEqual([...rules].sort())
})

function cruise(): Map<string, Set<string>> {
  const output = execFileSync(
    join(root, 'node_modules/.bin/depcruise'),
    ['--config', join(root, '.dependency-cruiser.mjs'), '--output-type', 'json', 'src'],
    {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}` },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  const { summary } = JSON.parse(output) as {
    summary: { violations: readonly { from: string; rule: { name: string } }[] }
  }
  const rules = new Map<string, Set<string>>()
  for (const { from, rule } of summary.violations) {
    const names = rules.get(from) ?? new Set()
    rules.set(from, names.add(rule.name))
  }
  return rules
}
