import { expect, test } from 'vitest'
import { LoadedVersions } from './loaded-versions.ts'

/** Holds two versions, and records what is loaded and unloaded. */
function shelf() {
  const done: string[] = []
  const versions = new LoadedVersions<number>({
    most: 2,
    async load(version) {
      if (version === 99) throw new Error('broken')
      done.push(`load ${version}`)
      return version
    },
    async unload(version) {
      done.push(`unload ${version}`)
    },
  })
  return { done, versions }
}

/** Lets all that can happen now happen. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

// [LOADED-1] [LOADED-2]
test('a version is unloaded only when no request uses it, and another one waits for that', async () => {
  const { done, versions } = shelf()
  const first = await versions.borrow(1)
  const same = await versions.borrow(1)
  using _second = await versions.borrow(2)
  const third = versions.borrow(3)
  await settled()
  first[Symbol.dispose]()
  await settled()
  expect(done).toEqual(['load 1', 'load 2'])
  same[Symbol.dispose]()
  using found = await third
  expect(found.model).toBe(3)
  expect(done).toEqual(['load 1', 'load 2', 'unload 1', 'load 3'])
})

// [LOADED-3]
test('a version that is asked for all the time gives its place up when another one waits for it', async () => {
  const { done, versions } = shelf()
  const busy = await versions.borrow(1)
  using _other = await versions.borrow(2)
  const waiting = versions.borrow(3)
  let isAgain = false
  const again = versions.borrow(1).then((borrowed) => {
    isAgain = true
    return borrowed
  })
  await settled()
  expect(isAgain).toBe(false)
  busy[Symbol.dispose]()
  const third = await waiting
  third[Symbol.dispose]()
  using back = await again
  expect(back.model).toBe(1)
  expect(done.slice(2)).toEqual(['unload 1', 'load 3', 'unload 3', 'load 1'])
})

test('a version that was to leave stays where another place has become free', async () => {
  const { done, versions } = shelf()
  using _busy = await versions.borrow(1)
  const other = await versions.borrow(2)
  const waiting = versions.borrow(3)
  const again = versions.borrow(1)
  other[Symbol.dispose]()
  using _third = await waiting
  using _back = await again
  expect(done).toEqual(['load 1', 'load 2', 'unload 2', 'load 3'])
})

test('a version that cannot be loaded takes no place', async () => {
  const { versions } = shelf()
  using _first = await versions.borrow(1)
  await expect(versions.borrow(99)).rejects.toThrow('broken')
  await expect(versions.borrow(99)).rejects.toThrow('broken')
  using second = await versions.borrow(2)
  expect(second.model).toBe(2)
})
