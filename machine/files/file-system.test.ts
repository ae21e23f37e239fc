import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { bsdMounts, fileSystemOf, judgeFileSystem, linuxMounts } from './file-system.ts'

const fuse = 0x65735546

it.each([
  [0x6969, 'nfs4'],
  [0x6969, undefined],
  [0xff534d42, 'cifs'],
  // As Node gives it on some machines.
  [0xff534d42 | 0, undefined],
  [0xfe534d42, 'cifs'],
  [0x00c36400, 'ceph'],
  [0x0bd00bd0, 'lustre'],
  [0x47504653, 'gpfs'],
  [0x6b414653, 'afs'],
  [fuse, 'fuse.sshfs'],
  [fuse, 'fuse.glusterfs'],
  [0, 'smbfs'],
])('a network file system is known by its number or its name: %i %s', (type, mounted) => {
  expect(judgeFileSystem(type, mounted)).toMatchObject({ kind: 'network' })
})

it.each([
  [0x01021997, '9p'],
  [fuse, 'virtiofs'],
  [fuse, 'fuse.grpcfuse'],
  [fuse, undefined],
  [0x786f4256, 'vboxsf'],
])('a file system that may lead elsewhere is not refused: %i %s', (type, mounted) => {
  expect(judgeFileSystem(type, mounted)).toMatchObject({ kind: 'unsure' })
})

it.each([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x794c7630, 'overlay'],
  [0x01021994, 'tmpfs'],
  [0x2fc12fc1, 'zfs'],
  [0x7461636f, 'ocfs2'],
  [0, 'apfs'],
  [0, undefined],
])('everything else counts as local: %i %s', (type, mounted) => {
  expect(judgeFileSystem(type, mounted)).toMatchObject({ kind: 'local' })
})

it('the mount tables of Linux and of the BSDs give places and names', () => {
  const table = '36 35 98:0 /a /mnt/two\\040words rw,noatime shared:1 - fuse.sshfs me@host: rw\n\n'
  expect(linuxMounts(table)).toEqual([['/mnt/two words', 'fuse.sshfs']])
  expect(bsdMounts('//me@host/x on /Volumes/a (b) (smbfs, nodev)\n')).toEqual([['/Volumes/a (b)', 'smbfs']])
})

it('a path that does not exist yet has the file system of the folder that it will be in', () => {
  expect(fileSystemOf(join(tmpdir(), 'none', 'such'))).toEqual(fileSystemOf(tmpdir()))
})
