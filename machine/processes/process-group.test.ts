import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { chance } from '../services/chance.ts'
import { clock } from '../services/clock.ts'
import { endMarked, markedProcesses, ProcessGroup } from './process-group.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-group-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const env = { PATH: process.env.PATH ?? '' }

function start(script: string) {
  const mark = `test ${chance.uuid()}`
  return { mark, group: new ProcessGroup({ words: ['/bin/sh', '-c', script], cwd: folder, env, mark }) }
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await clock.sleep(5)
}

it('a program that ends is reported by its code, with its last words', async () => {
  const { group } = start('echo out; echo err >&2; exit 3')
  expect(await group.ended).toEqual({ words: 'ended with code 3', isSuccess: false })
  await until(() => group.lastWords.includes('err'))
  expect(group.lastWords).toContain('out')
  expect(await group.end()).toBe(true)
  expect(await start('exit 0').group.ended).toMatchObject({ isSuccess: true })
  expect(await start('kill -9 $$').group.ended).toMatchObject({ words: 'ended with SIGKILL' })
})

it('a program that does not exist is an end with its name', async () => {
  const group = new ProcessGroup({ words: ['no-such-program'], cwd: folder, env, mark: chance.uuid() })
  expect(await group.ended).toEqual({ words: 'ended with code 127', isSuccess: false })
  await until(() => group.lastWords.includes('no-such-program'))
})

describe.runIf(existsSync('/proc/self/environ'))('the end of a group', () => {
  // [PROCESS-GROUP-1] [PROCESS-GROUP-3]
  it('leaves none of its processes, though one ignores SIGTERM and one has left the group', async () => {
    const ready = join(folder, 'ready')
    const { group, mark } = start(
      `setsid sleep 300 & trap '' TERM; sleep 300 & echo > ${ready}; while :; do sleep 1; done`,
    )
    await until(() => existsSync(ready))
    expect((await markedProcesses()).get(mark)?.length).toBeGreaterThan(4)
    expect(await group.end()).toBe(false)
    expect((await markedProcesses()).get(mark)).toBeUndefined()
  })

  // [PROCESS-GROUP-2]
  it('comes with the end of the process that started it, also where that is killed', async () => {
    const started = join(folder, 'started')
    const mark = `test ${chance.uuid()}`
    const code = `
      import { ProcessGroup } from ${JSON.stringify(join(import.meta.dirname, 'process-group.ts'))}
      const words = ['/bin/sh', '-c', 'echo $$ > ${started}; exec sleep 300']
      new ProcessGroup({ words, cwd: ${JSON.stringify(folder)}, env: process.env, mark: ${JSON.stringify(mark)} })`
    const parent = spawn(process.execPath, ['--input-type=module-typescript', '-e', code], {
      stdio: 'ignore',
    })
    await until(() => existsSync(started) && readFileSync(started, 'utf8') !== '')
    expect((await markedProcesses()).get(mark)).toBeDefined()
    const closed = once(parent, 'close')
    parent.kill('SIGKILL')
    await closed
    await until(async () => (await markedProcesses()).get(mark) === undefined)
    await endMarked(mark)
  })
})
