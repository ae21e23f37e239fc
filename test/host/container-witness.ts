/**
 * Every container that an engine starts, with what it may do, as the engine and the kernel tell.
 *
 * Invariants
 * - A container and its first process are looked up when the engine reports its start. Only a container that had ended
 *   by then is left out.
 */
import { readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import Docker from 'dockerode'
import { codeOf } from '../../faults/system-error.ts'
import { statusOf } from '../../worlds/containers/engine.ts'

export interface SeenContainer {
  readonly id: string
  /** Settings that the engine received for it. */
  readonly settings: Docker.HostConfig
  /** `/proc/self/status` and `/proc/self/mountinfo` of its first process. */
  readonly status: string
  readonly mounts: readonly string[]
}

export interface ContainerWitness {
  /** All that were started so far and ran when they were looked at. */
  seen(): Promise<readonly SeenContainer[]>
  close(): void
}

/** Watches an engine on this machine. @param address `unix://…` */
export async function witnessContainers(address: string): Promise<ContainerWitness> {
  // Not through the sandbox's own connection: its streams have a deadline, and this one lasts as long as the test.
  const docker = new Docker({ socketPath: address.slice('unix://'.length) })
  const events = (await docker.getEvents({
    filters: { type: ['container'], event: ['start'] },
  })) as Readable
  const found: Promise<SeenContainer | undefined>[] = []
  let text = ''
  events.setEncoding('utf8')
  events.on('error', () => undefined)
  events.on('data', (chunk: string) => {
    const lines = `${text}${chunk}`.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) found.push(lookAt(docker, (JSON.parse(line) as { id: string }).id))
  })
  return {
    seen: async () => (await Promise.all(found)).filter((container) => container !== undefined),
    close: () => events.destroy(),
  }
}

async function lookAt(docker: Docker, id: string): Promise<SeenContainer | undefined> {
  try {
    const { HostConfig, State } = await docker.getContainer(id).inspect()
    const fileOf = (name: string) => readFileSync(`/proc/${State.Pid}/${name}`, 'utf8')
    return {
      id,
      settings: HostConfig,
      status: fileOf('status'),
      mounts: fileOf('mountinfo').split('\n').filter(Boolean),
    }
  } catch (error) {
    // The engine knows no such container, or the kernel no such process.
    if (statusOf(error) === 404 || ['ENOENT', 'ESRCH', 'EINVAL'].includes(codeOf(error) ?? ''))
      return undefined
    throw error
  }
}

/** The value of a field of `/proc/PID/status`. */
export function fieldOf(status: string, name: string): string | undefined {
  return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]
}
