/**
 * The settings of a container: everything is denied except what its specification names.
 *
 * Invariants
 * - [LIMITS-1] No network, no capability that is not named, no new privileges, no device, no swap, no socket of the
 *   engine; processes, memory, cores, open files and every writable place are limited.
 * - [LIMITS-2] A capability that reaches beyond the container can be named by no specification, and where programs
 *   may take their owner's rights (`setuid`), those rights hold no capability but the named ones.
 * - [LIMITS-3] The file system is read-only unless the specification gives it a size.
 * - [LIMITS-4] A container ends and is removed by the engine when the connection of its maker ends.
 * - [LIMITS-5] The system calls are those of `system-calls.ts`. Signals in a queue are counted per user by the kernel, so a
 *   container may add to them only while there are few, and it has no POSIX message queues.
 * - [LIMITS-6] Volumes that an image declares are folders in memory: the engine would keep them on its disk, without a limit.
 * - The container also ends when its shell or its guard is killed. Signals to the container reach the shell.
 * - [INSPECTOR-1] Its programs, libraries and configuration are those of its own image; of the inspected container it
 *   sees the processes, and the files under `/proc/1/root`.
 * - [INSPECTOR-2] It has the user and the capabilities of the inspected container, and no more: a check may run what
 *   the agent has made, and that can do there only what it could do before. For the same user with the same
 *   capabilities the kernel needs no capability to open `/proc/1/root`.
 * - [INSPECTOR-3] It has no network, its file system is read-only unless its specification gives it a size, and the
 *   inspected container is paused: nothing that the agent has started can run while it looks.
 */
import type Docker from 'dockerode'
import { ContainerFault } from './fault.ts'
import { type Capability, type ContainerSpec, capabilities, type InspectorSpec } from './sandbox.ts'
import { interruptSignal } from './shell/shell-script.ts'
import { systemCalls } from './system-calls.ts'

const mebibyte = 2 ** 20

const defaults = {
  memoryBytes: 256 * mebibyte,
  processes: 128,
  cores: 1,
  tmpfs: { '/tmp': 64 * mebibyte },
  /** Folder in memory for each volume that the image declares. */
  volumeBytes: 64 * mebibyte,
  /** Real-time signals and timers of a program; the machine's root may have a hundred times as many. */
  pendingSignals: 1024,
  workingDirectory: '/',
  hostname: 'sandbox',
} as const

/** Labels by which containers of all processes are found. */
export const labels = {
  /** Scope of the leases. */
  scope: 'perdure.scope',
  /** Id of the lease, which is the container's name. */
  lease: 'perdure.lease',
  /** Who renews that lease: one per process and sandbox. */
  owner: 'perdure.owner',
} as const

/** Whose a container is. */
export interface Ownership {
  /** The lease. */
  readonly id: string
  readonly scope: string
  readonly owner: string
}

/**
 * @param volumes paths that the image declares as volumes
 * @throws ContainerFault `bad_settings` for a capability that none is given
 */
export function containerSettings(
  spec: ContainerSpec,
  { id, scope, owner }: Ownership,
  volumes: readonly string[] = [],
): Docker.ContainerCreateOptions {
  const inMemory = Object.fromEntries(volumes.map((path) => [path, defaults.volumeBytes]))
  const { memoryBytes = defaults.memoryBytes, processes = defaults.processes } = spec
  return {
    name: id,
    Image: spec.image,
    User: spec.user,
    Entrypoint: [],
    // Docker's init is process 1: it reaps orphans, which otherwise fill the limit of processes.
    Cmd: ['/bin/sh', '-c', guardScript],
    Env: Object.entries(spec.environment ?? {}).map(([name, value]) => `${name}=${value}`),
    WorkingDir: spec.workingDirectory ?? defaults.workingDirectory,
    Hostname: spec.hostname ?? defaults.hostname,
    Labels: { [labels.scope]: scope, [labels.lease]: id, [labels.owner]: owner },
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    NetworkDisabled: true,
    HostConfig: {
      AutoRemove: true,
      Init: true,
      NetworkMode: 'none',
      IpcMode: 'private',
      CapDrop: ['ALL'],
      CapAdd: (spec.capabilities ?? []).map(requireHarmless),
      SecurityOpt: [`seccomp=${systemCalls}`, ...(spec.setuid === true ? [] : ['no-new-privileges'])],
      Privileged: false,
      PidsLimit: processes,
      Memory: memoryBytes,
      // The same figure as for memory: no swap.
      MemorySwap: memoryBytes,
      NanoCpus: Math.round((spec.cores ?? defaults.cores) * 1e9),
      ShmSize: 16 * mebibyte,
      ReadonlyRootfs: spec.diskBytes === undefined,
      Tmpfs: Object.fromEntries(
        Object.entries({ ...inMemory, ...(spec.tmpfs ?? defaults.tmpfs) }).map(tmpfsOf),
      ),
      Ulimits: [
        { Name: 'core', Soft: 0, Hard: 0 },
        { Name: 'nofile', Soft: 1024, Hard: 4096 },
        { Name: 'sigpending', Soft: defaults.pendingSignals, Hard: defaults.pendingSignals },
        { Name: 'msgqueue', Soft: 0, Hard: 0 },
        ...(spec.diskBytes === undefined
          ? []
          : [{ Name: 'fsize', Soft: spec.diskBytes, Hard: spec.diskBytes }]),
      ],
      // We read the output ourselves; the engine would keep a second copy of it, without a limit.
      LogConfig: { Type: 'none', Config: {} },
    },
  }
}

function tmpfsOf([path, bytes]: [string, number]): [string, string] {
  return [path, `rw,nosuid,nodev,exec,size=${bytes},mode=1777`]
}

const harmless: ReadonlySet<string> = new Set(capabilities)

function requireHarmless(name: Capability): Capability {
  if (harmless.has(name)) return name
  throw new ContainerFault(
    'bad_settings',
    `no container is given the capability ${name}: only ${capabilities.join(', ')} end at its own walls`,
  )
}

const signal = interruptSignal.replace(/^SIG/, '')

/** For `/bin/sh`; its own process is the first child of the container's init. */
export const guardScript = `shell=/bin/sh; [ -x /bin/bash ] && shell=/bin/bash
exec 3<&0 </dev/null
{ cat <&3; kill -KILL $$; } | "$shell" -s 3<&- &
shell=$!
exec 3<&-
trap 'kill -${signal} $shell' ${signal}
while kill -0 $shell; do wait $shell; done 2>/dev/null`

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
