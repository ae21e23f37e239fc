import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { storageFaultOf } from './fault.ts'
import { createHome, createRunDirectory, homeAt } from './home.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-home-'))
})
afterEach(() => {
  rmSync(dir, { recursive: true, force: true })
})

describe('home', () => {
  it('nothing is kept outside of the home directory', () => {
    const home = homeAt(join(dir, 'h'))
    const run = home.run(runId('demo'))
    const paths = [
      home.temporalFile,
      home.storeFile,
      home.logsDir,
      run.metricsFile,
      run.checkpointDir(3),
      run.batchFile(7),
      run.tokenFile(7),
    ]
    for (const path of paths) expect(path.startsWith(`${join(dir, 'h')}/`)).toBe(true)
    expect(existsSync(home.dir)).toBe(false)
  })

  it('createHome() and createRunDirectory() may be called again', () => {
    for (let again = 0; again < 2; again++) {
      const home = createHome(join(dir, 'h'))
      const run = createRunDirectory(home, runId('demo'))
      expect(existsSync(run.checkpointsDir) && existsSync(run.batchesDir) && existsSync(home.logsDir)).toBe(
        true,
      )
    }
  })

  it('a file in the place of the home directory is named', () => {
    const file = join(dir, 'h')
    writeFileSync(file, '')
    expect(() => createHome(file)).toThrow(expect.objectContaining({ kind: 'not_a_directory' }))
    expect(() => createHome(join(file, 'below'))).toThrow(
      expect.objectContaining({ kind: 'not_a_directory' }),
    )
    expect(() => createHome(file)).toThrow(file)
  })

  it.skipIf(process.getuid?.() === 0)('a directory without permission is named', () => {
    chmodSync(dir, 0o500)
    expect(() => createHome(join(dir, 'h'))).toThrow(expect.objectContaining({ kind: 'no_permission' }))
    chmodSync(dir, 0o700)
  })
})

describe('storageFaultOf', () => {
  it('each fault says what to do and whether trying again can help', () => {
    const cases = [
      [{ code: 'ENOSPC', message: 'no space' }, 'disk_full', false],
      [{ code: 'EACCES', message: 'denied' }, 'no_permission', true],
      [{ errcode: 5, message: 'database is locked' }, 'locked', false],
      [{ errcode: 13, message: 'full' }, 'disk_full', false],
      [{ errcode: 266, message: 'disk I/O error' }, 'io', false], // SQLITE_IOERR_READ = 10 + 256
      [{ errcode: 267, message: 'malformed' }, 'corrupt', true], // SQLITE_CORRUPT_VTAB = 11 + 256
      [{ code: 'EMFILE', message: 'too many open files' }, 'io', false],
      [{ errcode: 1, message: 'no such table' }, 'internal', true],
      [{ code: 'ERR_INVALID_ARG_TYPE', message: 'cannot be bound' }, 'internal', true],
      [new Error('odd'), 'internal', true],
    ] as const
    for (const [error, kind, permanent] of cases) {
      const fault = storageFaultOf(error, 'store x')
      expect(fault).toMatchObject({ name: 'StorageFault', kind, permanent, cause: error })
      expect(fault.message).toContain('store x: ')
      expect(storageFaultOf(fault, 'again')).toBe(fault)
    }
  })
})
