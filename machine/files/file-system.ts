/**
 * The file system below a path, and whether SQLite's log can be shared on it.
 *
 * In WAL mode the processes that use a database share memory through a mapped file and lock ranges of it. On a network file
 * system two machines do not see the same memory, and some of them grant a lock twice: a database is damaged silently.
 *
 * Invariants
 * - Only what is known to be a network file system counts as one; what may be one, such as a shared folder of a virtual machine,
 *   is `unsure`.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/** The name of a file system, and what it means for a database. */
export interface FileSystem {
  readonly name: string
  readonly kind: 'local' | 'network' | 'unsure'
}

/** By the magic number that `statfs` gives on Linux; the names are those of the mount table. */
const networkTypes: ReadonlyMap<number, string> = new Map([
  [0x6969, 'nfs'],
  [0xff534d42, 'cifs'],
  [0xfe534d42, 'smb3'],
  [0x517b, 'smbfs'],
  [0x5346414f, 'afs'],
  [0x6b414653, 'afs'],
  [0x73757245, 'coda'],
  [0x564c, 'ncpfs'],
  [0x00c36400, 'ceph'],
  [0x0bd00bd0, 'lustre'],
  [0x47504653, 'gpfs'],
  [0x19830326, 'beegfs'],
  [0xaad7aaea, 'panfs'],
  [0x013111a8, 'ibrix'],
  [0x20030528, 'orangefs'],
])

/** In the mount table these stand for what `statfs` only calls FUSE, and for systems without a number of their own. */
const networkNames =
  /^(nfs\d?|cifs|smb\w*|afs|coda|ceph|lustre|gpfs|beegfs\w*|glusterfs|fuse\.(sshfs|glusterfs|ceph\w*|s3fs|goofys|rclone|gcsfuse|mount-s3|blobfuse\w*|davfs\w*|curlftpfs|juicefs|seaweedfs|moosefs|mfs\w*|lizardfs\w*|gvfsd-fuse|google-drive\w*))$/i
/** They may lead to another machine or to this one. */
const unsureNames = /^(9p|virtiofs|vboxsf|vmhgfs|prl_fs|fuse|fuse\..+)$/i
const fuseType = 0x65735546
const unsureTypes: ReadonlyMap<number, string> = new Map([
  [0x01021997, '9p'],
  [0x786f4256, 'vboxsf'],
  [0xbacbacbc, 'vmhgfs'],
  [fuseType, 'fuse'],
])

/**
 * The rule.
 * @param type as `statfs` gives it
 * @param mounted the name in the mount table, where there is one
 */
export function judgeFileSystem(type: number, mounted?: string): FileSystem {
  // Node gives the number with a sign on some machines.
  const number = type >>> 0
  const network = networkTypes.get(number)
  if (network !== undefined) return { name: mounted ?? network, kind: 'network' }
  if (mounted !== undefined && networkNames.test(mounted)) return { name: mounted, kind: 'network' }
  const unsure = unsureTypes.get(number)
  if (unsure !== undefined || (mounted !== undefined && unsureNames.test(mounted)))
    return { name: mounted ?? unsure ?? 'unknown', kind: 'unsure' }
  return { name: mounted ?? `type ${number.toString(16)}`, kind: 'local' }
}

/** The file system of a path that need not exist yet. */
export function fileSystemOf(path: string): FileSystem {
  if (!existsSync(path) && dirname(path) !== path) return fileSystemOf(dirname(path))
  // Elsewhere the numbers have no fixed meaning.
  const type = process.platform === 'linux' ? statfsSync(path).type : 0
  return judgeFileSystem(type, mountedAt(realpathSync(path), mountTable()))
}

/** One line per mount: its place and the name of its file system. */
type MountTable = readonly (readonly [place: string, name: string])[]

/** The name of the file system that is mounted nearest above a path; undefined where the table does not say. */
function mountedAt(path: string, table: MountTable): string | undefined {
  const above = table.filter(([place]) => place === '/' || path === place || path.startsWith(`${place}/`))
  const nearest = Math.max(...above.map(([place]) => place.length))
  // A later mount hides an earlier one at the same place.
  return above.findLast(([place]) => place.length === nearest)?.[1]
}

function mountTable(): MountTable {
  try {
    return process.platform === 'linux'
      ? linuxMounts(readFileSync('/proc/self/mountinfo', 'utf8'))
      : bsdMounts(execFileSync('mount', { encoding: 'utf8' }))
  } catch {
    // A sandbox may hide the table; the number of `statfs` still says most.
    return []
  }
}

/** @example linuxMounts('36 35 98:0 / /mnt rw - nfs4 host:/x rw') // [['/mnt', 'nfs4']] */
export function linuxMounts(table: string): MountTable {
  return table.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ')
    const place = before.split(' ')[4]
    const name = after.split(' ')[0]
    if (place === undefined || name === undefined) return []
    const read = place.replaceAll(/\\([0-7]{3})/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 8)),
    )
    return [[read, name]]
  })
}

/** @example bsdMounts('host:/x on /Volumes/x (nfs, nodev)') // [['/Volumes/x', 'nfs']] */
export function bsdMounts(table: string): MountTable {
  return table.split('\n').flatMap((line) => {
    const [, place, name] = / on (\/.*) \(([^,)]+)/.exec(line) ?? []
    return place === undefined || name === undefined ? [] : [[place, name]]
  })
}
