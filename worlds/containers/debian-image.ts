/**
 * A Debian base image made on this machine, where no registry can be reached.
 *
 * The recipe: `debootstrap --variant=minbase --include=PACKAGES bookworm`, without package lists and
 * downloaded packages. The tar is kept, so that another engine on this machine needs no network.
 *
 * Invariants
 * - The name of the image carries its recipe: another list of packages is another image.
 * - A recipe that was interrupted leaves no tar, and its folder is removed with its lease.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeFolder } from '../../machine/files/folder.ts'
import {
  createProcessLeases,
  holdLeases,
  type LeaseStore,
  leaseFolder,
  reapFolders,
} from '../../machine/processes/lease.ts'
import { processScope } from '../../machine/processes/process.ts'
import { ContainerFault } from './fault.ts'
import type { Sandbox } from './sandbox.ts'

const run = promisify(execFile)
const release = 'bookworm'
const defaultMirror = 'http://deb.debian.org/debian'
/** Packages come over the network, and are unpacked on one core. */
const debootstrapTimeoutMs = 30 * 60_000

export interface DebianImageOptions {
  /** Beside what Debian calls essential. */
  readonly packages: readonly string[]
  /** Where the tar is kept and the tree is made. */
  readonly folder: string
  readonly leases?: LeaseStore | undefined
  /** Debian's own by default, or what PERDURE_DEBIAN_MIRROR names. */
  readonly mirror?: string | undefined
  readonly log?: ((line: string) => void) | undefined
}

/**
 * The image of these packages, made when the engine does not have it.
 * @returns its name
 * @throws ContainerFault `backend` with what to do where it cannot be made
 */
export async function debianImage(
  sandbox: Pick<Sandbox, 'hasImage' | 'importImage'>,
  options: DebianImageOptions,
): Promise<string> {
  const packages = [...options.packages].sort()
  const recipe = createHash('sha256')
    .update([release, ...packages].join(' '))
    .digest('hex')
    .slice(0, 12)
  const image = `perdure-debian:${release}-${recipe}`
  if (await sandbox.hasImage(image)) return image
  const file = join(options.folder, `debian-${release}-${recipe}.tar`)
  if (!existsSync(file)) await makeTar(file, packages, options)
  await sandbox.importImage(image, createReadStream(file))
  return image
}

async function makeTar(
  file: string,
  packages: readonly string[],
  options: DebianImageOptions,
): Promise<void> {
  const { folder, leases = createProcessLeases(), log = () => undefined } = options
  const mirror = options.mirror ?? process.env.PERDURE_DEBIAN_MIRROR ?? defaultMirror
  if (process.getuid?.() !== 0)
    throw new ContainerFault('backend', `only root can make a Debian image with debootstrap: ${elsewhere}`)
  const trees = join(folder, 'trees')
  makeFolder(trees)
  await reapFolders(trees, leases)
  const holder = holdLeases(leases, (fault) =>
    log(`the lease of ${trees} could not be renewed: ${String(fault)}`),
  )
  const tree = await leaseFolder(trees, leases.scope, holder)
  const partial = `${file}.${processScope()}.partial`
  try {
    log(`making a Debian image with ${packages.join(', ')} from ${mirror}: this takes minutes, once`)
    const include = `--include=${packages.join(',')}`
    await runTool('debootstrap', ['--variant=minbase', include, release, tree.path, mirror])
    await runTool('sh', ['-c', cleaning, 'sh', tree.path])
    await runTool('tar', [
      '--create',
      '--numeric-owner',
      '--one-file-system',
      '--file',
      partial,
      '--directory',
      tree.path,
      '.',
    ])
    await rename(partial, file)
  } finally {
    await rm(partial, { force: true })
    await tree.release()
    holder.close()
  }
}

const elsewhere =
  'run as root once, load an image of the same packages into the engine by hand, or use the built-in tasks, which need no containers'

/** Devices are the engine's matter, and an import of them fails without privileges. */
const cleaning =
  'cd "$1" && rm -rf var/lib/apt/lists/* var/cache/apt/*.bin var/cache/apt/archives/*.deb dev/* debootstrap'

async function runTool(program: string, words: readonly string[]): Promise<void> {
  try {
    await run(program, [...words], {
      timeout: debootstrapTimeoutMs,
      maxBuffer: 2 ** 26,
      env: {
        ...process.env,
        PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin`,
        DEBIAN_FRONTEND: 'noninteractive',
      },
    })
  } catch (cause) {
    const { code, stderr, stdout } = cause as { code?: unknown; stderr?: string; stdout?: string }
    const why =
      code === 'ENOENT'
        ? 'it is not installed (Debian: apt-get install debootstrap)'
        : `${stdout ?? ''}${stderr ?? ''}`
    throw new ContainerFault('backend', `${program} failed: ${why.trim().slice(-1000)}; ${elsewhere}`, {
      cause,
    })
  }
}
