/**
 * The inspector: a container for graders that looks at another one, which is stopped meanwhile.
 *
 * Invariants
 * - [INSPECTOR-1] Its programs, libraries and configuration are those of its own image; of the inspected container it
 *   sees the processes, and the files under `/proc/1/root`.
 * - [INSPECTOR-2] It has the user and the capabilities of the inspected container, and no more: a check may run what
 *   the agent has made, and that can do there only what it could do before. For the same user with the same
 *   capabilities the kernel needs no capability to open `/proc/1/root`.
 * - [INSPECTOR-3] It has no network, its file system is read-only unless its specification gives it a size, and the
 *   inspected container is paused: nothing that the agent has started can run while it looks.
 */
import type Docker from 'dockerode'
import { containerSettings, type Ownership } from '../container-settings.ts'
import type { ContainerSpec, InspectorSpec } from '../sandbox.ts'

/**
 * @param given what the inspector is made of
 * @param inspected the container that is looked at: what it is made of, and its name
 * @param volumes paths that its image declares as volumes
 */
export function inspectorSettings(
  given: InspectorSpec,
  lease: Ownership,
  inspected: { readonly spec: ContainerSpec; readonly id: string },
  volumes: readonly string[] = [],
): Docker.ContainerCreateOptions {
  const settings = containerSettings(inspectorSpec(given, inspected.spec), lease, volumes)
  return {
    ...settings,
    HostConfig: {
      ...settings.HostConfig,
      PidMode: `container:${inspected.id}`,
      // Process 1 is that of the inspected container, and it is stopped: this one reaps its own.
      Init: false,
    },
  }
}

/** The specification of an inspector: the given one, with the rights of the inspected container. */
export function inspectorSpec(
  given: InspectorSpec,
  { user, capabilities = [], setuid = false }: ContainerSpec,
): ContainerSpec {
  return { ...given, user, capabilities, setuid }
}
