/**
 * Abilities of an engine that isolate its containers from each other and from its machine, as `doctor` reports them.
 *
 * Invariants
 * - Nothing that is looked at stays: the container that is made to ask for a size is never started, and removed.
 */
import { z } from 'zod'
import { sizeRefusal } from './disk/sized-layers.ts'
import { type Engine, engineFault } from './engine.ts'

export interface EngineFacts {
  readonly version: string
  /** The driver, and the file system that it is on where the engine says so. */
  readonly storage: string
  /** Whether layers get a size; unknown where there is no image to try it with. */
  readonly sizes: 'given' | 'unknown' | { readonly refusal: string }
  /** Whose users the kernel counts a container's users as. */
  readonly users: 'those of the machine' | 'mapped' | 'those of a user'
  readonly hasSeccomp: boolean
}

const information = z.object({
  ServerVersion: z.string().default(''),
  Driver: z.string().default(''),
  DriverStatus: z.array(z.array(z.string())).nullish(),
  SecurityOptions: z.array(z.string()).nullish(),
})

/** @throws ContainerFault `backend` */
export async function engineFacts({ docker }: Engine): Promise<EngineFacts> {
  try {
    const info = information.parse(await docker.info())
    const fileSystem = info.DriverStatus?.find(([name]) => name === 'Backing Filesystem')?.[1]
    const options = new Set((info.SecurityOptions ?? []).map((option) => /name=(\w+)/.exec(option)?.[1]))
    const [image] = await docker.listImages()
    return {
      version: info.ServerVersion,
      storage: fileSystem === undefined ? info.Driver : `${info.Driver} on ${fileSystem}`,
      sizes: image === undefined ? 'unknown' : await sizesOf(docker, image.Id),
      users: options.has('userns')
        ? 'mapped'
        : options.has('rootless')
          ? 'those of a user'
          : 'those of the machine',
      hasSeccomp: options.has('seccomp'),
    }
  } catch (cause) {
    throw engineFault(cause, 'asking the container engine what it can do')
  }
}

async function sizesOf(docker: Engine['docker'], image: string): Promise<EngineFacts['sizes']> {
  const refusal = await sizeRefusal(docker, image)
  return refusal === undefined ? 'given' : { refusal }
}
