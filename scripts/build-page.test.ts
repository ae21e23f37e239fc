/** The page as it is built: small, by itself, and known by its content. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { builtPage } from './build-page.ts'

/** All that a reader's browser loads, compressed as by any server. */
const mostBytes = 400_000

// [PAGEBUILD-1]
test('the same sources are built once, into one folder', async () => {
  const folder = await builtPage()
  const { mtimeMs } = statSync(join(folder, 'page.js'))
  expect(await builtPage()).toBe(folder)
  expect(statSync(join(folder, 'page.js')).mtimeMs).toBe(mtimeMs)
})

test('the page is four files and at most 400 kB compressed', async () => {
  const folder = await builtPage()
  const names = readdirSync(folder).sort()
  expect(names).toEqual(['icon.svg', 'index.html', 'page.css', 'page.js'])
  const bytes = names.map((name) => gzipSync(readFileSync(join(folder, name))).length)
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(mostBytes)
})

test('the page has no script of its own in its document and loads nothing from another host', async () => {
  const folder = await builtPage()
  const document = readFileSync(join(folder, 'index.html'), 'utf8')
  expect(document).not.toMatch(/<script(?![^>]*\bsrc=)|\bstyle=|\son\w+=/i)
  for (const name of readdirSync(folder)) {
    const hosts = readFileSync(join(folder, name), 'utf8').match(/https?:\/\/[\w.]+/g) ?? []
    // Names of markup languages, which nothing is fetched from.
    expect(
      hosts.filter((host) => !host.endsWith('www.w3.org')),
      name,
    ).toEqual([])
  }
})
