/** Text from outside on the streams of a command. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'

const program = fileURLToPath(new URL('../../bin/perdure.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'perdure-output-'))
const hostile = 'clear \u001b[2J title \u001b]0;owned\u0007 colour \u001b[31m C1 \u009b2J over \u202edrow\r'
const obeyed = /(?![\n\t])\p{Cc}|\p{Bidi_Control}/u

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function perdure(...words: readonly string[]) {
  const call = promisify(execFile)(process.execPath, [program, ...words], {
    maxBuffer: 16 * 1024 * 1024,
    env: { ...process.env, FORCE_COLOR: '1' },
  })
  return await call.catch((failed: { stdout: string; stderr: string }) => failed)
}

function written(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

// [OUTPUT-4] [PAINTED-1] [TABLE-3] [TERMINAL-1]
test('a module reaches the terminal without its control codes, in tables, by its own words and by its bytes', async () => {
  const module = written(
    'hostile.ts',
    `import { defineEnvironment } from 'perdure'
const text = ${JSON.stringify(hostile)}
console.log(text)
console.error(text)
process.stdout.write(Buffer.from(text))
export const hostile = defineEnvironment('hostile', { summary: text, start: () => ({ prompt: '' }) })`,
  )
  const { stdout, stderr } = await perdure('env', 'list', module)
  expect(stdout.match(/clear ␛\[2J/g)?.length).toBeGreaterThanOrEqual(3)
  expect(stderr).toContain('clear ␛[2J title ␛]0;owned␇ colour ␛[31m')
  expect(stdout).not.toMatch(obeyed)
  expect(stderr).not.toMatch(obeyed)
  const quiet = written(
    'quiet.ts',
    `import { defineEnvironment } from 'perdure'
export const quiet = defineEnvironment('quiet', { summary: ${JSON.stringify(hostile)}, start: () => ({ prompt: '' }) })`,
  )
  const json = await perdure('env', 'list', quiet, '--json')
  expect(json.stdout).not.toMatch(obeyed)
  expect(JSON.parse(json.stdout)).toMatchObject([{ summary: hostile }])
})

// [OUTPUT-4]
test('what a module throws is reported without its control codes', async () => {
  const module = written('throws.ts', `throw new Error(${JSON.stringify(hostile)})`)
  const { stderr } = await perdure('env', 'list', module)
  expect(stderr).toContain('does not load: clear ␛[2J')
  expect(stderr).not.toMatch(obeyed)
})

test('a module that leaves timers and connections behind ends with the command, whose output arrives whole', async () => {
  const module = written(
    'lingers.ts',
    `import { createServer } from 'node:net'
import { defineEnvironment } from 'perdure'
setInterval(() => undefined, 1000)
createServer().listen(0)
export const lingers = defineEnvironment('lingers', { summary: 'x'.repeat(1_000_000), start: () => ({ prompt: '' }) })`,
  )
  const { stdout } = await perdure('env', 'list', module, '--json')
  expect(JSON.parse(stdout)).toMatchObject([{ name: 'lingers' }])
}, 30_000)
