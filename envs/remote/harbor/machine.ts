/**
 * The container in which an agent works on a Harbor task.
 *
 * Invariants
 * - [HARBOR-MACHINE-1] It has the cores, memory and disk that the task names, no network, and neither tests nor solution.
 * - [HARBOR-MACHINE-2] The task's time is that of its commands together: a slow policy or a busy machine shortens no episode. A command
 *   that has no time left is stopped.
 */
import {
  type Container,
  type ContainerSpec,
  capabilities,
  type Sandbox,
} from '../../../worlds/containers/sandbox.ts'
import { continued } from '../../os/containers/invocation.ts'
import type { TaskImage, TaskImages } from './images.ts'
import { refusal } from './refusal.ts'
import { verifierFolder } from './reward.ts'
import type { HarborSettings } from './settings.ts'
import type { Surroundings } from './task-file.ts'
import type { TaskFolder } from './task-folder.ts'

/** The means by which containers of task folders are had. */
export interface HarborRoom {
  readonly sandbox: Sandbox
  readonly images: TaskImages
  readonly settings: HarborSettings
}

/** The result of a command. */
export interface CommandResult {
  /** Both streams, as on a terminal. */
  readonly output: string
  readonly exitCode: number
  /** Why no further command can be run; undefined where one can. */
  readonly over?: 'time' | 'ended'
}

/** Processes and threads of a container. */
const processes = 512

/** A container of these surroundings, with the rights of a root that has no capability beyond it. */
export function specOf(surroundings: Surroundings, image: TaskImage): ContainerSpec {
  const { cores, memoryBytes, diskBytes, environment } = surroundings
  return {
    image: image.image,
    user: '0:0',
    capabilities,
    setuid: true,
    ...{ processes, cores, memoryBytes, diskBytes, environment, tmpfs: {}, hostname: 'task' },
    workingDirectory: workingDirectoryOf(surroundings, image),
  }
}

/** Where commands and tests start. */
export function workingDirectoryOf(
  { workingDirectory }: Surroundings,
  image: Pick<TaskImage, 'workingDirectory'>,
): string {
  return workingDirectory ?? (image.workingDirectory || '/')
}

/** Whether the engine has what a task asks for. @throws EnvironmentFault `bad_data` with file and line */
export async function checkSize(
  { file, rules }: TaskFolder,
  surroundings: Surroundings,
  sandbox: Sandbox,
): Promise<void> {
  const size = await sandbox.size()
  const table = surroundings === rules.environment ? ['environment'] : ['verifier', 'environment']
  if (surroundings.cores > size.cores)
    throw refusal(
      file,
      rules.lineOf([...table, 'cpus']),
      `${table.join('.')}.cpus is ${surroundings.cores}: the container engine has ${size.cores}`,
    )
  if (surroundings.memoryBytes > size.memoryBytes)
    throw refusal(
      file,
      rules.lineOf([...table, 'memory_mb']),
      `${table.join('.')}.memory_mb is ${surroundings.memoryBytes / 2 ** 20}: the container engine has ${Math.floor(size.memoryBytes / 2 ** 20)}`,
    )
}

const setUp = `[ -n "\${BASH_VERSION-}" ] || exit 3
mkdir -p /logs/agent /logs/artifacts ${verifierFolder}`

/** Making folders takes milliseconds. */
const setUpMs = 60_000

/** A task's machine. */
export class HarborMachine {
  readonly container: Container
  readonly #task: TaskFolder
  readonly #commandMs: number
  #usedMs = 0

  private constructor(container: Container, task: TaskFolder, commandMs: number) {
    this.container = container
    this.#task = task
    this.#commandMs = commandMs
  }

  /** @throws EnvironmentFault */
  static async open(task: TaskFolder, { sandbox, images, settings }: HarborRoom): Promise<HarborMachine> {
    const { environment } = task.rules
    const image = await images.ofAgent(task)
    await checkSize(task, environment, sandbox)
    const container = await sandbox.acquire(specOf(environment, image))
    try {
      const { exitCode } = await container.exec(setUp, { deadlineMs: setUpMs })
      if (exitCode === 0) return new HarborMachine(container, task, settings.commandSeconds * 1000)
      throw refusal(
        task.file,
        task.rules.lineOf(['environment']),
        `its image ${image.image} has no bash, or no folder can be made in it (status ${exitCode})`,
      )
    } catch (cause) {
      await container.release()
      throw cause
    }
  }

  /** Milliseconds that commands may still take. */
  get #leftMs(): number {
    const { agentSeconds = Number.POSITIVE_INFINITY } = this.#task.rules
    return agentSeconds * 1000 - this.#usedMs
  }

  async run(command: string): Promise<CommandResult> {
    const allowed = Math.min(this.#commandMs, this.#leftMs)
    const begun = performance.now()
    const { stdout, stderr, exitCode, timedOut, ended } = await this.container.exec(continued(command), {
      deadlineMs: Math.max(1, Math.ceil(allowed)),
    })
    this.#usedMs += performance.now() - begun
    const output = `${stdout}${stderr}`
    if (ended !== undefined) return { output, exitCode, over: 'ended' }
    if (this.#leftMs <= 0) return { output, exitCode, over: 'time' }
    if (!timedOut) return { output, exitCode }
    return { output: `${output}\n[stopped after ${allowed / 1000} s]`, exitCode }
  }

  close(): Promise<void> {
    return this.container.release()
  }
}
