import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { compareVersions, findTemporalBinary } from './binary.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-binary-'))
  vi.stubEnv('PATH', `${folder}:/bin:/usr/bin`)
  vi.stubEnv('XDG_CACHE_HOME', join(folder, 'cache'))
  vi.stubEnv('PERDURE_TEMPORAL_CLI', undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

function place(name: string, answer: string): string {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\necho '${answer}'\n`)
  chmodSync(path, 0o755)
  return path
}

test('a recent binary on the PATH is used', async () => {
  const path = place('temporal', 'temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)')
  expect(await findTemporalBinary(() => undefined)).toEqual({
    path,
    cliVersion: '1.9.1',
    serverVersion: '1.32.0',
    canDisableNews: false,
  })
})

test('a program of that name that is not Temporal is passed over, and why is reported', async () => {
  const path = place('temporal', 'temporal worship 3000')
  const said: string[] = []
  await findTemporalBinary((line) => said.push(line))
  expect(said).toEqual([`Passing over ${path}: it does not answer --version as Temporal's command does.`])
})

test('a binary whose server is too old is passed over', async () => {
  place('temporal', 'temporal version 0.13.0 (Server 1.24.2, UI 2.28.0)')
  const said: string[] = []
  await findTemporalBinary((line) => said.push(line))
  expect(said[0]).toContain('its server is 1.24.2, older than 1.25.0')
})

test('PERDURE_TEMPORAL_CLI wins over the PATH', async () => {
  place('temporal', 'temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)')
  const named = place('mine', 'temporal version 1.8.0 (Server 1.31.0, UI 2.50.0)')
  vi.stubEnv('PERDURE_TEMPORAL_CLI', named)
  expect(await findTemporalBinary(() => undefined)).toMatchObject({ path: named, serverVersion: '1.31.0' })
})

test('a PERDURE_TEMPORAL_CLI that cannot be used is an error that names it', async () => {
  vi.stubEnv('PERDURE_TEMPORAL_CLI', join(folder, 'nothing'))
  await expect(findTemporalBinary(() => undefined)).rejects.toMatchObject({
    name: 'TemporalFault',
    kind: 'bad_settings',
    message: expect.stringContaining(join(folder, 'nothing')),
  })
})

test('versions compare by number', () => {
  expect(compareVersions('1.9.0', '1.10.0')).toBeLessThan(0)
  expect(compareVersions('1.32.0', '1.32')).toBe(0)
  expect(compareVersions('2.0.0', '1.99.99')).toBeGreaterThan(0)
})
