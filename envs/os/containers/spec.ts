/**
 * The specification of the containers of official items.
 *
 * Invariants
 * - The agent is root, as AgentBench has it, with the capabilities that administration needs and no other; what an
 *   item needs beyond that is named.
 * - /tmp lies in the root file system, so that graders find what is there.
 */
import { type ContainerSpec, capabilities, type InspectorSpec } from '../../../worlds/containers/sandbox.ts'
import type { Need } from '../item.ts'

const gibibyte = 2 ** 30

/** The environment of a login of root. */
export const rootEnvironment = {
  HOME: '/root',
  USER: 'root',
  LOGNAME: 'root',
  SHELL: '/bin/bash',
  TERM: 'dumb',
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
} as const

/** Where scripts start. */
export const rootFolder = '/root'

/** A machine for the agent; AgentBench's has 1 GiB of memory and two cores, too. */
export function machineSpec(image: string, needs: readonly Need[] = []): ContainerSpec {
  return {
    ...surroundings(image),
    user: '0:0',
    // Users, owners, modes, signals and `su`.
    capabilities,
    setuid: needs.includes('setuid'),
  }
}

/** A container for checks of a machine's work: the same image and limits. */
export function checkSpec(image: string): InspectorSpec {
  return surroundings(image)
}

function surroundings(image: string): InspectorSpec {
  return {
    image,
    memoryBytes: gibibyte,
    processes: 256,
    cores: 2,
    diskBytes: gibibyte,
    tmpfs: {},
    environment: rootEnvironment,
    workingDirectory: rootFolder,
    hostname: 'machine',
  }
}
