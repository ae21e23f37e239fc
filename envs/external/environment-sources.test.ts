import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { environmentDigest } from './environment-sources.ts'

const dir = mkdtempSync(join(tmpdir(), 'perdure-sources-'))
afterAll(() => rmSync(dir, { recursive: true }))

function write(file: string, text: string): void {
  mkdirSync(dirname(join(dir, file)), { recursive: true })
  writeFileSync(join(dir, file), text)
}

const digest = () => environmentDigest({ from: join(dir, 'maze'), data: undefined, definition: {} })

it('[SOURCES-1] a file that a module reads beside it changes the digest', async () => {
  write('maze/index.ts', "readFileSync(join(import.meta.dirname, 'levels', name))")
  write('maze/levels/first.txt', 'left')
  const before = await digest()
  write('maze/levels/first.txt', 'right')
  expect(await digest()).not.toBe(before)
})

it('[SOURCES-2] an installed package counts by its version, a linked one by its files', async () => {
  write('maze/index.ts', "import 'installed'\nimport 'linked'")
  for (const name of ['installed', 'linked'])
    for (const folder of ['maze/node_modules', 'elsewhere']) {
      write(
        `${folder}/${name}/package.json`,
        JSON.stringify({ name, version: '1.0.0', exports: './main.js' }),
      )
      write(`${folder}/${name}/main.js`, 'one')
    }
  rmSync(join(dir, 'maze/node_modules/linked'), { recursive: true })
  symlinkSync(join(dir, 'elsewhere/linked'), join(dir, 'maze/node_modules/linked'))
  const before = await digest()
  write('maze/node_modules/installed/main.js', 'two')
  expect(await digest()).toBe(before)
  write(
    'maze/node_modules/installed/package.json',
    '{"name":"installed","version":"2.0.0","exports":"./main.js"}',
  )
  const updated = await digest()
  write('elsewhere/linked/main.js', 'two')
  expect(new Set([before, updated, await digest()]).size).toBe(3)
})
