import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const program = join(import.meta.dirname, '..', '..', 'bin', 'perdure.mjs')

test('a program that is no trainer is refused item by item, and the command fails', () => {
  const words = ['trainer', 'check', '--json', 'no-such-program', '--flag']
  const { status, stdout } = spawnSync(process.execPath, [program, ...words], { encoding: 'utf8' })
  const { ok, command, checks } = JSON.parse(stdout)
  expect({ status, ok, command }).toEqual({ status: 1, ok: false, command: ['no-such-program', '--flag'] })
  expect(checks.length).toBeGreaterThan(15)
  for (const check of checks) {
    expect(check.ok, check.item).toBe(false)
    expect(check.detail).toContain('no-such-program --flag cannot be started')
  }
}, 120_000)

test('what is to be checked is a program or a module, and not both', () => {
  for (const words of [[], ['--module', './x.ts', 'program']]) {
    const { status, stderr } = spawnSync(process.execPath, [program, 'trainer', 'check', ...words], {
      encoding: 'utf8',
    })
    expect(status).toBe(2)
    expect(stderr).toContain('a program with its arguments, or a module by --module')
  }
}, 120_000)
