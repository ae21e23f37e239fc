/**
 * The sandbox as this task uses it.
 *
 * Invariants
 * - [TASK-SANDBOX-1] A fault of a container or its engine leaves as an EnvironmentFault of the same kind, in the same words.
 */
import { ContainerFault } from '../../../worlds/containers/fault.ts'
import type { SandboxOptions } from '../../../worlds/containers/open.ts'
import type { Container, Sandbox } from '../../../worlds/containers/sandbox.ts'
import { EnvironmentFault } from '../../contract/environment.ts'

/** Does work with containers. @throws EnvironmentFault `bad_settings`, `backend`, `session_lost` */
export async function withContainers<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    throw cause instanceof ContainerFault ? new EnvironmentFault(cause.kind, cause.message, { cause }) : cause
  }
}

/** Opens a sandbox. @throws EnvironmentFault, and so do its calls and those of its containers */
export async function openTaskSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { openSandbox } = await import('../../../worlds/containers/open.ts')
  const sandbox = await withContainers(() => openSandbox(options))
  return {
    acquire: async (spec) => taskContainer(await withContainers(() => sandbox.acquire(spec))),
    keepWarm: (spec, count) => sandbox.keepWarm(spec, count),
    whenWarm: () => sandbox.whenWarm(),
    hasImage: (image) => withContainers(() => sandbox.hasImage(image)),
    importImage: (image, tar) => withContainers(() => sandbox.importImage(image, tar)),
    imageFacts: (image) => withContainers(() => sandbox.imageFacts(image)),
    buildImage: (image, tar, withinMs) => withContainers(() => sandbox.buildImage(image, tar, withinMs)),
    size: () => withContainers(() => sandbox.size()),
    reap: () => withContainers(() => sandbox.reap()),
    close: () => withContainers(() => sandbox.close()),
  }
}

function taskContainer(container: Container): Container {
  return {
    id: container.id,
    whenReleased: container.whenReleased,
    get alive() {
      return container.alive
    },
    get ended() {
      return container.ended
    },
    exec: (script, options) => withContainers(() => container.exec(script, options)),
    copyIn: (files) => withContainers(() => container.copyIn(files)),
    copyOut: (path, options) => withContainers(() => container.copyOut(path, options)),
    inspector: async (spec) => taskContainer(await withContainers(() => container.inspector(spec))),
    release: () => withContainers(() => container.release()),
  }
}
