import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { refuseNetworkDisk, requireDisk } from './room.ts'

it('[DISK-1] a home on a network file system is refused by the name of that file system, and the way out is given', () => {
  const nfs = { name: 'nfs4', kind: 'network' } as const
  expect(() => refuseNetworkDisk('/data/home', nfs)).toThrow(
    expect.objectContaining({
      kind: 'network_disk',
      permanent: true,
      message: expect.stringMatching(
        /\/data\/home is on a network file system \(nfs4\).*local disk with --home/,
      ),
    }),
  )
})

it('a home on a local disk, or on a shared folder that may be local, is not refused', () => {
  for (const kind of ['local', 'unsure'] as const)
    expect(() => refuseNetworkDisk('/data/home', { name: 'x', kind })).not.toThrow()
  expect(() => requireDisk(tmpdir())).not.toThrow()
})

it.runIf(process.platform === 'linux')(
  'a home on a file system that keeps no files is refused by its name',
  () => {
    expect(() => requireDisk('/proc/perdure/home')).toThrow('keeps no files (proc)')
  },
)

it('a home whose path is too long for SQLite is refused with the length of it', () => {
  expect(() => requireDisk(`/tmp${'/0123456789'.repeat(50)}`)).toThrow(/554 bytes long.* at most 440/)
})
