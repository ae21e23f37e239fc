/**
 * The inspector: a container for graders that looks at another one, which stands still meanwhile.
 *
 * Invariants
 * - Its programs, libraries and configuration are those of its own image; of the inspected container it sees
 *   the processes, and the files under `/proc/1/root`.
 * - It has no network, its file system is read-only unless its specification gives it a size, and the inspected container is paused: nothing that
 *   the agent has started can run while it looks.
 */
import type Docker from 'dockerode'
import { containerSettings, type Ownership } from './container-settings.ts'
import type { ContainerSpec } from './sandbox.ts'

/** To look into another's root and files, whoever owns them. */
const capabilities = ['SYS_PTRACE', 'DAC_READ_SEARCH', 'SYS_CHROOT']

/** @param inspected name of the container that is looked at */
export function inspectorSettings(
  spec: ContainerSpec,
  lease: Ownership,
  inspected: string,
): Docker.ContainerCreateOptions {
  const settings = containerSettings(
    { ...spec, capabilities: [...capabilities, ...(spec.capabilities ?? [])] },
    lease,
  )
  return {
    ...settings,
    HostConfig: {
      ...settings.HostConfig,
      PidMode: `container:${inspected}`,
      // Process 1 is that of the inspected container, and it stands still: this one reaps its own.
      Init: false,
    },
  }
}
