/** The dependency rules catch what they forbid: each rule meets a planted violation. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')

/** File, its text, and the rules that it breaks. */
const planted: readonly (readonly [string, string, readonly string[]])[] = [
  ['identity/identity.ts', 'export const identity = 1', []],
  [
    'learning/rollout/staleness.ts',
    `import { z } from 'zod'\nexport const learned = z`,
    ['learning-is-pure'],
  ],
  [
    'learning/clock.ts',
    `import { hrtime } from 'node:process'\nexport const now = hrtime`,
    ['learning-is-pure'],
  ],
  ['activities/play/sampling.ts', 'export type Sampling = 1\nexport const sampling = 1', []],
  [
    'workflows/good.ts',
    `import { proxyActivities } from '@temporalio/workflow'
import type { Sampling } from '../activities/play/sampling.ts'
import { identity } from '../identity/identity.ts'
export const good: Sampling = proxyActivities && identity`,
    [],
  ],
  [
    'workflows/runs-activity.ts',
    `import { sampling } from '../activities/play/sampling.ts'\nexport const bad = sampling`,
    ['workflows-run-time'],
  ],
  [
    'workflows/knows-storage.ts',
    `import type { Store } from '../storage/store.ts'\nexport type Bad = Store`,
    ['workflows-arrows'],
  ],
  ['workflows/parses.ts', `import { z } from 'zod'\nexport const bad = z`, ['workflows-packages']],
  [
    'workflows/reads.ts',
    `import { readFile } from 'node:fs'\nexport const bad = readFile`,
    ['workflows-packages'],
  ],
  ['workflows/state/transitions/changing.ts', 'export type Changing = 1', []],
  [
    'workflows/state/transitions/phase.ts',
    `import type { Changing } from './changing.ts'\nexport type Phase = Changing`,
    [],
  ],
  // [TRANSITION-1]
  [
    'workflows/writes.ts',
    `import type { Changing } from './state/transitions/changing.ts'\nexport type Bad = Changing`,
    ['state-changes-in-transitions'],
  ],
  [
    'storage/store.ts',
    `import { sampling } from '../activities/play/sampling.ts'\nexport type Store = 1\nexport const bad = sampling`,
    ['storage-arrows'],
  ],
  ['storage/knows-envs.ts', `import type { E } from '../envs/e.ts'\nexport type Bad = E`, ['storage-arrows']],
  ['envs/e.ts', 'export type E = 1\nexport const e = 1', []],
  ['policy/knows-envs.ts', `import { e } from '../envs/e.ts'\nexport const bad = e`, ['policy-arrows']],
  ['messages/message.ts', `import { e } from '../envs/e.ts'\nexport const bad = e`, ['messages-arrows']],
  [
    'envs/os/machine-session.ts',
    `import { p } from '../../policy/p.ts'\nexport const bad = p`,
    ['envs-arrows'],
  ],
  [
    'config/schema/schema.ts',
    `import { s } from '../../envs/os/machine-session.ts'\nexport const bad = s`,
    ['config-arrows'],
  ],
  [
    'policy/p.ts',
    `import { InferenceSession } from 'onnxruntime-node'\nexport const p = InferenceSession`,
    ['one-door-to-onnxruntime'],
  ],
  ['policy/graph/runtime.ts', `import { Tensor } from 'onnxruntime-node'\nexport const t = Tensor`, []],
  [
    'policy/q.ts',
    `import { good } from '../workflows/good.ts'\nexport function f() {\n  using held = good\n  return held\n}`,
    ['policy-arrows'],
  ],
  ['workers/w.ts', `import { page } from '../cli/page.ts'\nexport const w = page`, ['workers-arrows']],
  ['temporal/t.ts', `import { s } from '../client/s.ts'\nexport const t = s`, ['temporal-arrows']],
  ['client/s.ts', `import { page } from '../cli/page.ts'\nexport const s = page`, ['client-arrows']],
  ['cli/page.ts', `import fc from 'fast-check'\nexport const page = fc`, ['no-development-packages']],
  // A cycle is reported once, at one of its files.
  ['cli/a.ts', `import { b } from './b.ts'\nexport const a = () => b`, ['no-cycles', 'no-type-cycles']],
  ['cli/b.ts', `import { a } from './a.ts'\nexport const b = () => a`, []],
  ['cli/c.ts', `import type { D } from './d.ts'\nexport type C = D`, ['no-type-cycles']],
  ['cli/d.ts', `import type { C } from './c.ts'\nexport type D = C[]`, []],
  ['cli/lost.ts', `import { c } from './nowhere.ts'\nexport const lost = c`, ['everything-resolves']],
  ['cli/tested.ts', `import { t } from './t.test.ts'\nexport const tested = t`, ['nothing-imports-tests']],
  ['cli/t.test.ts', 'export const t = 1', []],
  ['cli/tried.ts', `import { t } from './t.testing.ts'\nexport const tried = t`, ['nothing-imports-tests']],
  ['cli/t.testing.ts', `import fc from 'fast-check'\nexport const t = fc`, []],
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
    ['--config', join(root, '.dependency-cruiser.mjs'), '--output-type', 'json', '.'],
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
