import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { leavingCores, reportCrashes } from './crash-trace.ts'

vi.setConfig({ testTimeout: 60_000 })

/** Cores go to the working folder, and there is a debugger to read them. */
const canTell =
  process.platform === 'linux' &&
  (await readFile('/proc/sys/kernel/core_pattern', 'utf8')).trim() === 'core' &&
  spawnSync('gdb', ['--version']).status === 0

test.skipIf(!canTell)(
  '[CRASH-TRACE-1] a native crash is reported once, with what each thread was doing',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-crash-'))
    const [command, args] = leavingCores(process.execPath, ['-e', "process.kill(process.pid, 'SIGSEGV')"])
    expect(spawnSync(command, args, { cwd: folder }).signal).toBe('SIGSEGV')
    const reports: string[] = []
    reportCrashes(folder, (text: string) => reports.push(text))
    reportCrashes(folder, (text: string) => reports.push(text))
    expect(reports).toHaveLength(1)
    expect(reports[0]).toContain('uv_kill')
    expect(await readdir(folder)).toEqual([])
    await rm(folder, { recursive: true })
  },
)

test('a folder without a core tells nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-crash-'))
  reportCrashes(folder, () => expect.unreachable())
  await rm(folder, { recursive: true })
})
