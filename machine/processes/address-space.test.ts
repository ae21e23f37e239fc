import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { addressSpaceOf, requireAddressSpace } from './address-space.ts'

it('[SPACE-1] a limit that is too low for a run is refused, with what to do', () => {
  expect(() => requireAddressSpace(8e9)).toThrow(/limited to 8\.0 GB.*ulimit -v unlimited/)
  expect(() => requireAddressSpace(64e9)).not.toThrow()
  expect(() => requireAddressSpace(undefined)).not.toThrow()
})

it.runIf(process.platform === 'linux')('the limit is the one that the shell sets', () => {
  const limits = execFileSync('bash', ['-c', 'ulimit -v 1000000; cat /proc/self/limits'], {
    encoding: 'utf8',
  })
  expect(addressSpaceOf(limits)).toBe(1_024_000_000)
  expect(addressSpaceOf('Max address space         unlimited            unlimited            bytes')).toBe(
    undefined,
  )
})
