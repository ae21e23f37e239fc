/**
 * The gauge: tells what is free on the disk that the engine keeps containers on. Where that is a disk of this
 * machine whose folders this process may see, it is asked itself, else by a small container.
 *
 * Invariants
 * - The disk is asked, not its folders, so a reading takes milliseconds at most, and files without names are in it.
 * - Where a reading fails, growth is assumed.
 */
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ContainerFault } from '../fault.ts'
import type { Container, ContainerSpec } from '../sandbox.ts'
import type { DiskRoom } from './disk-ledger.ts'

/** A file system without a count of names is assumed to be filled as fast as one core makes files. */
const namesPerSecond = 50_000
const deadlineMs = 10_000

export class DiskGauge {
  readonly #start: (spec: ContainerSpec) => Promise<Container>
  #container: Promise<Container> | undefined
  /** Where this process sees the disk; undefined before that was looked for. */
  #folder: string | false | undefined

  /** @param start makes a container that `close` of the gauge releases */
  constructor(start: (spec: ContainerSpec) => Promise<Container>) {
    this.#start = start
  }

  /**
   * Reads the free space.
   * @param watched a container, and where the engine says that its files are: the gauge has its image and no more
   * rights than that
   * @throws ContainerFault `bad_settings` for an image that cannot tell, `backend`, `session_lost`
   */
  async read({
    spec,
    layer,
  }: {
    readonly spec: ContainerSpec
    layer(): Promise<string | undefined>
  }): Promise<DiskRoom> {
    this.#folder ??= await folderOf(layer)
    if (this.#folder === false) return this.#ask(spec)
    const { bsize, bfree, files, ffree } = await statfs(this.#folder)
    return { bytes: bsize * bfree, names: namesFree(files, ffree) }
  }

  async #ask({ image, user, capabilities }: ContainerSpec): Promise<DiskRoom> {
    this.#container ??= this.#start({
      image,
      user,
      ...(capabilities === undefined ? {} : { capabilities }),
      memoryBytes: 2 ** 25,
      processes: 16,
      tmpfs: {},
    })
    try {
      const container = await this.#container
      const { exitCode, stdout } = await container.exec("stat -f -c '%S %f %c %d' /", { deadlineMs })
      const [, size, free, names, freeNames] = /^(\d+) (\d+) (\d+) (\d+)\n$/.exec(stdout) ?? []
      if (exitCode !== 0 || size === undefined)
        throw new ContainerFault(
          'bad_settings',
          `image ${image} cannot tell what is free on a disk: it needs stat`,
        )
      return { bytes: Number(size) * Number(free), names: namesFree(Number(names), Number(freeNames)) }
    } catch (fault) {
      await this.close().catch(() => undefined)
      throw fault
    }
  }

  async close(): Promise<void> {
    const container = this.#container
    this.#container = undefined
    await (await container?.catch(() => undefined))?.release()
  }
}

/** The folder of all layers, where the container's own is seen there; it stays when the container goes. */
async function folderOf(layer: () => Promise<string | undefined>): Promise<string | false> {
  const path = await layer().catch(() => undefined)
  const seen = path !== undefined && (await statfs(path).catch(() => undefined)) !== undefined
  return seen ? dirname(dirname(path)) : false
}

function namesFree(names: number, free: number): number {
  return names > 0 ? free : -Math.floor((Date.now() / 1000) * namesPerSecond)
}
