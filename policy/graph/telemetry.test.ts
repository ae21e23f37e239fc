/** Side effects of the tensor runtime that its user does not see. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** Loads the runtime in its thread; the request cannot be served, which is the quickest answer. */
const inThread = `
const { createTrainer } = await import(${JSON.stringify(new URL('../trainer/embedded.ts', import.meta.url).href)})
const trainer = createTrainer({ threads: 1 })
await trainer.logprobs({ checkpointDir: '/nowhere', tokens: [1], temperature: 1 }).catch(() => undefined)
await trainer.close()`

/** Loads the runtime and gives it something to refuse. */
const inProcess = `
const { createInferenceSession } = await import(${JSON.stringify(new URL('./runtime.ts', import.meta.url).href)})
await createInferenceSession(new Uint8Array([1]), { threads: 1 }).catch(() => undefined)`

it.each([
  ['the process', inProcess],
  ['a thread', inThread],
])(
  'no process reports to the vendor of the tensor runtime, or leaves a report: loaded in %s',
  (_, program) => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-telemetry-'))
    try {
      const { ORT_DISABLE_TELEMETRY: _, ...env } = process.env
      const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
        env: { ...env, TMPDIR: folder },
        encoding: 'utf8',
      })
      expect({ status, stderr }).toMatchObject({ status: 0 })
      expect(readdirSync(folder)).toEqual([])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
