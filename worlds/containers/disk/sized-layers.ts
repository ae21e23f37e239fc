/**
 * Layers with a size of their own: some engines limit what a container writes themselves (overlay2 on xfs with project
 * quotas, btrfs, zfs). There a write beyond the size fails, as on a full disk.
 *
 * Invariants
 * - Whether an engine can do it is found out once, with the first container that has a size; where it cannot, the watch of
 *   the disk alone limits its containers (`disk-watch.ts`).
 */
import type Docker from 'dockerode'
import { reasonOf } from '../../../faults/reason.ts'

export class SizedLayers {
  #refused = false

  /** Makes a container, with a layer of that size where the engine has such. @throws the engine's error */
  async create(docker: Docker, settings: Docker.ContainerCreateOptions, bytes: number | undefined) {
    if (bytes === undefined || this.#refused) return docker.createContainer(settings)
    try {
      return await docker.createContainer(sized(settings, bytes))
    } catch (error) {
      if (!refusesSize(error)) throw error
      this.#refused = true
      return docker.createContainer(settings)
    }
  }
}

function sized(settings: Docker.ContainerCreateOptions, bytes: number): Docker.ContainerCreateOptions {
  return { ...settings, HostConfig: { ...settings.HostConfig, StorageOpt: { size: String(bytes) } } }
}

/** Engines put it in words, each driver in its own: "--storage-opt is supported only for …", "quota not supported". */
function refusesSize(error: unknown): boolean {
  return /storage.?opt|quota/i.test(reasonOf(error))
}

/**
 * Why an engine gives a layer of this image no size; undefined where it does.
 * @throws the engine's error for every other failure
 */
export async function sizeRefusal(docker: Docker, image: string): Promise<string | undefined> {
  try {
    const container = await docker.createContainer(sized({ Image: image, Cmd: ['true'] }, 2 ** 30))
    await container.remove({ force: true, v: true })
    return undefined
  } catch (error) {
    if (!refusesSize(error)) throw error
    // The engine's own words, without the client's.
    return reasonOf(error)
      .replace(/^\(HTTP code \d+\) .*? - /, '')
      .trim()
  }
}
