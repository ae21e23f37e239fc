/**
 * The sandbox: containers that an agent may wreck, and nothing else.
 *
 * Invariants
 * - [SANDBOX-1] A container serves one session; it is removed after it, never handed on.
 * - [SANDBOX-2] The effect of an agent's action in its container is an answer (`ExecResult`, `ContainerEnded`), never a fault;
 *   a failure of the engine or the network is an ContainerFault, never an answer.
 * - [SANDBOX-3] No container outlives its owner by more than a minute: it ends with the connection of the process
 *   that made it, which has a janitor for what was not running. Any container that remains is found by its labels and
 *   removed when its lease has expired.
 */

/**
 * The capabilities that a container can be given: what an administrator does to users, owners, modes and
 * processes of the container itself. All others reach beyond it: with DAC_READ_SEARCH a process opens any file of
 * a file system that it holds one file of, such as a mount from the engine's machine.
 */
export const capabilities = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'SETGID',
  'SETUID',
] as const
export type Capability = (typeof capabilities)[number]

/** The specification of a container. Everything that is not named here is denied. */
export interface ContainerSpec {
  /** Name or id of an image that the engine has. */
  readonly image: string
  /** `name`, `uid` or `uid:gid` that the agent's commands run as; root only where the task needs it. */
  readonly user: string
  /** Linux capabilities, without `CAP_`; none by default. */
  readonly capabilities?: readonly Capability[]
  /**
   * Whether programs may take the rights of their owner, as `sudo` does; no by default. Those rights are the
   * capabilities named here and no other.
   */
  readonly setuid?: boolean
  /** Memory in bytes, tmpfs included and without swap; 256 MiB by default. */
  readonly memoryBytes?: number
  /** Processes and threads; 128 by default. */
  readonly processes?: number
  /** Cores, may be a fraction; 1 by default. */
  readonly cores?: number
  /**
   * The bytes that may be written outside of `tmpfs`: none where absent, else the whole file system up to so many
   * bytes, and one name for each 16 KiB of them; a container that writes more is ended (`disk-watch.ts`).
   */
  readonly diskBytes?: number
  /** Folders in memory by path, with their size in bytes; `/tmp` of 64 MiB by default. */
  readonly tmpfs?: Readonly<Record<string, number>>
  readonly environment?: Readonly<Record<string, string>>
  /** `/` by default. */
  readonly workingDirectory?: string
  readonly hostname?: string
}

/** An inspector has the rights of what it inspects, so they are not its own to name. */
export type InspectorSpec = Omit<ContainerSpec, 'user' | 'capabilities' | 'setuid'>

export interface ExecOptions {
  /** After it everything that the command started is killed; 10 s by default. */
  readonly deadlineMs?: number
  /** Bytes kept of each of stdout and stderr; 64 KiB by default. Later bytes are read and dropped. */
  readonly outputBytes?: number
  readonly stdin?: string
  /** Replaces the folder of the specification. */
  readonly workingDirectory?: string
  /** Added to the environment of the specification. */
  readonly environment?: Readonly<Record<string, string>>
}

export interface ExecResult {
  /** 128 + n where signal n ended it; 124 where it was out of time. */
  readonly exitCode: number
  /** Bytes that are no UTF-8 are replaced. */
  readonly stdout: string
  readonly stderr: string
  readonly timedOut: boolean
  /** Whether output was dropped. */
  readonly truncated: boolean
  /** The container ended meanwhile, by the agent's doing: nothing more can be run in it. */
  readonly ended?: ContainerEnded
}

/** Why a container ended. */
export type ContainerEnded = 'killed' | 'out_of_memory' | 'out_of_disk'

/** A file to be put into a container; the path is absolute. */
export interface FileIn {
  readonly path: string
  readonly content: string | Uint8Array
  /** 0o644 by default. */
  readonly mode?: number
  /** Root by default. */
  readonly uid?: number
  readonly gid?: number
}

/** A file, folder or link in a container; links are listed and never followed. */
export interface EntryOut {
  /** Relative to the folder that was asked for; the name of what was asked for where it is no folder. */
  readonly path: string
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** The bytes of a file. */
  readonly content?: Uint8Array
  /** The target of a link, as written. */
  readonly target?: string
}

/** One container, for one session; calls go strictly in sequence. */
export interface Container {
  /** Its name at the engine, which is its lease. */
  readonly id: string
  /** False once it has ended, for any reason, or was released. */
  readonly alive: boolean
  /** Settles when it was released. */
  readonly whenReleased: Promise<void>
  /** Set once it has ended by the agent's doing. */
  readonly ended: ContainerEnded | undefined
  /**
   * Runs a shell script (`bash -c` where the image has bash, else `sh -c`) as the agent does. The answer
   * comes from the agent's own container, so nothing is graded by it.
   * @throws ContainerFault `session_lost`, `backend`
   */
  exec(script: string, options?: ExecOptions): Promise<ExecResult>
  /** Puts files into the container; missing folders are made. @throws ContainerFault, RangeError for a path that leaves it */
  copyIn(files: readonly FileIn[]): Promise<void>
  /**
   * Reads a file or a folder, without running anything in the container. Undefined where there is nothing.
   * @param options.bytes what is read at most, of everything together; 1 MiB by default
   * @returns entries in the engine's order, and whether there were more
   */
  copyOut(
    path: string,
    options?: { readonly bytes?: number },
  ): Promise<{ readonly entries: readonly EntryOut[]; readonly truncated: boolean } | undefined>
  /**
   * A second container that sees the processes of this one, and its files under `/proc/1/root`, with programs
   * of its own image: for graders, out of the agent's reach. It has the user and the rights of this one.
   * Release it before this one.
   */
  inspector(spec: InspectorSpec): Promise<Container>
  /** Removes it; may be called twice. */
  release(): Promise<void>
}

/** The facts that an image states. */
export interface ImageFacts {
  readonly id: string
  /** Empty for root. */
  readonly user: string
  /** Empty for `/`. */
  readonly workingDirectory: string
  /** Folders of programs; those of every Linux where the image names none. */
  readonly path: readonly string[]
}

/** Why an image could not be built. */
export interface BuildFailure {
  /** Number of the instruction that failed, from 1; 0 where none was begun. */
  readonly step: number
  readonly reason: string
}

/** The resources of an engine for all its containers. */
export interface EngineSize {
  readonly cores: number
  readonly memoryBytes: number
}

/** Containers of one engine. */
export interface Sandbox {
  /** A container, from those kept warm for the same specification where there is one. */
  acquire(spec: ContainerSpec): Promise<Container>
  /** Keeps so many containers of the specification ready. */
  keepWarm(spec: ContainerSpec, count: number): void
  /** Settles when as many are ready as are wanted, or no more can be had. */
  whenWarm(): Promise<void>
  /** Whether the engine has the image. */
  hasImage(image: string): Promise<boolean>
  /** Makes an image of a file system's tar stream. */
  importImage(image: string, tar: NodeJS.ReadableStream): Promise<void>
  /** Undefined where the engine does not have it. */
  imageFacts(image: string): Promise<ImageFacts | undefined>
  /**
   * Builds an image by the Dockerfile in a tar of its folder, as `docker build` does.
   * @returns why it could not be built; undefined where it was
   */
  buildImage(image: string, tar: NodeJS.ReadableStream, withinMs: number): Promise<BuildFailure | undefined>
  size(): Promise<EngineSize>
  /** Removes what no live lease owns. @returns names of what was removed */
  reap(): Promise<readonly string[]>
  close(): Promise<void>
}
