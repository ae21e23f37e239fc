/** Code of modules beside other code, in a process of its own. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const own = JSON.stringify(join(import.meta.dirname, 'module-code.ts'))

async function run(script: string) {
  const text = `import { ownedBy, runAs } from ${own}
const owner = { name: 'the module', onStray: (thrown) => console.log('stray', thrown.message) }
${script}`
  const words = ['--input-type=module', '-e', text]
  return promisify(execFile)(process.execPath, words).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  )
}

// [MODULE-CODE-1]
test('other code ends the process as before', async () => {
  expect(await run('runAs(owner, () => undefined); process.exit(7)')).toMatchObject({ code: 7 })
})

// [MODULE-CODE-2]
test.each([
  ['a rejection', `Promise.reject(new Error('own'))`],
  ['an exception', `setTimeout(() => { throw new Error('own') })`],
])('%s of other code ends the process as before, one of a module is given to its owner', async (_, own) => {
  const stray = `runAs(owner, () => void Promise.reject(new Error('of the module')))`
  const { code, stdout, stderr } = await run(
    `${stray}; setTimeout(() => { ${own} }, 20); setTimeout(() => console.log('too late'), 2000)`,
  )
  expect({ code, stdout }).toEqual({ code: 1, stdout: 'stray of the module\n' })
  expect(stderr).toContain('Error: own')
})

test('an object keeps its fields and private state, frozen or not', async () => {
  const { stdout } =
    await run(`class Counter { #count = 0; name = 'c'; add() { return ++this.#count } get count() { return this.#count } }
const counter = ownedBy(owner, Object.freeze(new Counter()))
counter.add()
console.log(counter.name, counter.count, 'add' in counter, counter.missing)`)
  expect(stdout).toBe('c 1 true undefined\n')
})
