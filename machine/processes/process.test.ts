import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, expect, test, vi } from 'vitest'
import {
  moduleThere,
  type NamespaceKind,
  namespaceKinds,
  namespaceMissing,
} from '../../test/host/pid-namespace.ts'
import {
  bootId,
  isAlive,
  processOf,
  processOfScopeAlive,
  readProcess,
  statusOf,
  thisProcess,
  writtenProcess,
} from './process.ts'

const onLinux = process.platform === 'linux'
const idle = 'setInterval(() => {}, 1e6)'
const children: ChildProcess[] = []

afterEach(async () => {
  vi.restoreAllMocks()
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})

async function start(
  command: string,
  args: readonly string[],
): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child, 'spawn')
  children.push(child)
  return child as ChildProcess & { readonly pid: number }
}

test('a process is alive until it has ended', async () => {
  const child = await start(process.execPath, ['-e', idle])
  const identity = processOf(child.pid)
  expect(isAlive(thisProcess())).toBe(true)
  expect(isAlive(identity)).toBe(true)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(isAlive(identity)).toBe(false)
  expect(isAlive({ pid: child.pid })).toBe(false)
})

test.runIf(onLinux)('a process that ended, and whose parent has not waited for it, is dead', async () => {
  // The shell starts a child, says its number, and becomes a program that waits for no child, before the child ends.
  const parent = await start('sh', ['-c', 'sleep 1 & echo $!; exec sleep 1000'])
  const [line] = (await once(createInterface(parent.stdout as NodeJS.ReadableStream), 'line')) as [string]
  const zombie = Number(line)
  await vi.waitFor(() => expect(statusOf(zombie)?.state).toBe('Z'), { timeout: 30_000 })
  // Signals still reach it: a question that only sends one would say that it lives.
  expect(process.kill(zombie, 0)).toBe(true)
  expect(isAlive({ pid: zombie })).toBe(false)
  expect(isAlive(processOf(zombie))).toBe(false)
})

test.runIf(onLinux)('a number that was given again is another process', async () => {
  const child = await start(process.execPath, ['-e', idle])
  const identity = processOf(child.pid)
  expect(isAlive({ ...identity, start: String(Number(identity.start) - 1) })).toBe(false)
  expect(isAlive({ ...identity, boot: '000000000000' })).toBe(false)
  expect(isAlive({ pid: child.pid })).toBe(true)
})

test('a process that may not be signalled is alive', () => {
  const refusal = Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
  vi.spyOn(process, 'kill').mockImplementation(() => {
    throw refusal
  })
  expect(isAlive(thisProcess())).toBe(true)
  // Where the system shows nothing of it, as with hidden processes, the refusal alone tells.
  expect(isAlive({ pid: 2 ** 30 })).toBe(true)
})

test('no group of processes counts as a process', () => {
  for (const pid of [0, -1, 1.5, Number.NaN]) expect(isAlive({ pid })).toBe(false)
})

test('an identity is read as it was written', () => {
  const identities = [
    { pid: 12, start: '345', boot: 'b8ab9da0954e' },
    { pid: 12, start: '345', boot: '0' },
    { pid: 12, start: undefined, boot: undefined },
    { pid: 12, start: '345', boot: 'b8ab9da0954e', namespace: '4026531836' },
    { pid: 12, start: undefined, boot: undefined, namespace: '1' },
    thisProcess(),
  ]
  for (const identity of identities) expect(readProcess(writtenProcess(identity))).toEqual(identity)
  expect(writtenProcess({ pid: 7, start: '8', boot: 'b9' })).toBe('p7s8bb9')
  expect(writtenProcess({ pid: 7 })).toBe('p7s0bunknown')
  expect(writtenProcess({ pid: 7, start: '8', boot: 'b9', namespace: '10' })).toBe('p7s8bb9n10')
})

test('other texts are no process', () => {
  for (const text of ['', '0', '123', '-1', '1e3', 'p1', 'p1s2', 'p1s2bX', ' 1'])
    expect(readProcess(text)).toBeUndefined()
})

test.runIf(onLinux)('the system tells start, boot and namespace', () => {
  expect(thisProcess()).toEqual({
    pid: process.pid,
    start: expect.stringMatching(/^[1-9]\d*$/),
    boot: bootId(),
    namespace: expect.stringMatching(/^\d+$/),
  })
  expect(bootId()).toMatch(/^[0-9a-f]{12}$/)
})

const missing = namespaceMissing()
if (missing !== undefined) console.warn(`processes of other PID namespaces are not tested: ${missing}`)

// [PROCESS-1]
test.skipIf(missing !== undefined).each(Object.keys(namespaceKinds) as NamespaceKind[])(
  'of a process in another PID namespace nothing is claimed, from here or from there: %s',
  async (kind) => {
    const outside = await start(process.execPath, ['-e', idle])
    const module = new URL('./process.ts', import.meta.url).href
    const inside = await start(
      'unshare',
      moduleThere(
        kind,
        `import { isAlive, processScope, readProcess, thisProcess } from '${module}'
        const seen = ${JSON.stringify([thisProcess(), processOf(outside.pid)])}.map((each) => String(isAlive(each)))
        console.log(JSON.stringify({ scope: processScope(), seen, itself: isAlive(thisProcess()) }))
        ${idle}`,
      ),
    )
    const [line] = (await once(createInterface(inside.stdout as NodeJS.ReadableStream), 'line')) as [string]
    const { scope, seen, itself } = JSON.parse(line)
    expect(seen).toEqual(['undefined', 'undefined'])
    expect(itself).toBe(true)
    const identity = readProcess(scope)
    // Its number there is that of the namespace's first process; here it is another process.
    expect(identity?.pid).toBe(1)
    if (identity === undefined) throw new Error(`${scope} is no process`)
    expect(isAlive(identity)).toBeUndefined()
    expect(processOfScopeAlive(scope)).toBeUndefined()
  },
  30_000,
)
