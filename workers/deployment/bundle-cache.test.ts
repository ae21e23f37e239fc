import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { bundleCache } from './bundle-cache.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-bundle-cache-'))
const file = join(folder, 'code.ts')
const absent = join(folder, 'code.js')
const kept = join(folder, 'kept')
const bundle = { code: 'bundled', build: 'abc' }
const cache = bundleCache(kept)

beforeEach(() => {
  rmSync(kept, { recursive: true, force: true })
  rmSync(absent, { force: true })
  writeFileSync(file, 'one')
  // The bundler names folders among the files.
  cache.keep('this', bundle, { files: [file, folder], absent: [absent] })
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The only file in the cache. */
function entry(): string {
  const [name = '', ...others] = readdirSync(kept)
  expect(others).toEqual([])
  return join(kept, name)
}

it('a kept bundle is found by what was asked for, and by nothing else', () => {
  expect(bundleCache(kept).find('this')).toEqual(bundle)
  expect(cache.find('that')).toBeUndefined()
})

it('a kept bundle is used only while each file that it was made from is the same to the byte', () => {
  writeFileSync(file, 'two')
  expect(cache.find('this')).toBeUndefined()
  writeFileSync(file, 'one')
  expect(cache.find('this')).toEqual(bundle)
  rmSync(file)
  expect(cache.find('this')).toBeUndefined()
})

it('a kept bundle is used only while what was looked for and not found is still not there', () => {
  writeFileSync(absent, '')
  expect(cache.find('this')).toBeUndefined()
})

it('a damaged bundle is not found, and can be kept again', () => {
  const file = entry()
  const whole = readFileSync(file, 'utf8')
  for (const damaged of [whole.slice(0, -9), whole.replace('bundled', 'bungled'), '{}', '']) {
    writeFileSync(file, damaged)
    expect(cache.find('this')).toBeUndefined()
  }
  cache.keep('this', bundle, { files: [], absent: [] })
  expect(cache.find('this')).toEqual(bundle)
})

it('a cache that cannot be written costs nothing but the bundling', () => {
  const blocked = join(folder, 'blocked')
  writeFileSync(blocked, '')
  const useless = bundleCache(blocked)
  useless.keep('this', bundle, { files: [], absent: [] })
  expect(useless.find('this')).toBeUndefined()
})

it('of many bundles the oldest go, and nothing unfinished stays', () => {
  for (let number = 0; number < 30; number++) cache.keep(`${number}`, bundle, { files: [], absent: [] })
  expect(readdirSync(kept).filter((name) => name.endsWith('.json'))).toHaveLength(12)
  expect(readdirSync(kept)).toHaveLength(12)
  expect(cache.find('29')).toEqual(bundle)
})
