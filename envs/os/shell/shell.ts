/**
 * A virtual shell: just-bash over a file system in memory, with a clock and dice of its own.
 *
 * Invariants
 * - The same world and the same scripts give the same output: the time is made up, and chance comes from the world.
 * - Nothing of the host is reachable: no real files, no network, no other language than the shell's.
 * - Folder and variables carry over from script to script, files and processes as well.
 * - Counted limits end most scripts before they can do much; what slips past them is ended with its thread.
 */
import { Bash, type CommandName, defineCommand, getCommandNames } from 'just-bash'
import { uniforms } from '../../../identity/identity.ts'
import { ProcessTable } from './processes.ts'
import { defaultMode, type FoundEntry, home, type World, type WorldProcess } from './world.ts'

const kibi = 1024
const mebi = 1024 * kibi

/**
 * A file system of a few kilobytes needs no more. Each limit keeps what it counts under a tenth of a second
 * or a few megabytes; a script that takes longer all the same has a thread to itself while others wait.
 */
const limits = {
  maxSourceBytes: 128 * kibi,
  maxCallDepth: 50,
  maxCommandCount: 5_000,
  maxLoopIterations: 5_000,
  maxAwkIterations: 20_000,
  maxSedIterations: 2_000,
  maxJqIterations: 5_000,
  maxWorkUnits: 200_000,
  maxTraversalEntries: 20_000,
  maxTraversalDepth: 100,
  maxLiveBytes: 32 * mebi,
  maxInputBytes: 16 * mebi,
  maxFileSystemBytes: 8 * mebi,
  maxArchiveBytes: 8 * mebi,
  maxArchiveEntryBytes: 4 * mebi,
  maxArchiveEntries: 5_000,
  maxStringLength: 2 * mebi,
  maxHeredocSize: mebi,
  maxArrayElements: 20_000,
  maxBraceExpansionResults: 5_000,
  maxGlobOperations: 20_000,
  maxOutputSize: mebi,
  maxSourceDepth: 20,
  maxFileDescriptors: 64,
} as const

/** Everything but what starts threads or languages of its own, or converts what no problem holds. */
const leftOut = new Set(['sqlite3', 'xan', 'yq', 'html-to-markdown', 'help', 'history', 'clear'])

// The most output that leaves the thread; a session shows far less.
const outputLimit = 64 * kibi

/** Made by the shell itself; no problem is about them. */
const systemFolders = ['/bin', '/usr', '/proc', '/dev']

// The most bytes of variables that carry over to the next script.
const environmentLimit = 64 * kibi

/** When every world begins: 2024-05-06 09:00 UTC, a Monday. */
const epoch = Date.UTC(2024, 4, 6, 9)
const minute = 60_000

/** The result of a script. */
export interface ShellResult {
  readonly output: string
  readonly exitCode: number
}

/** The files and processes of a shell's machine. */
export interface ShellSnapshot {
  readonly entries: readonly (readonly [path: string, entry: FoundEntry])[]
  readonly processes: readonly WorldProcess[]
}

/** Sets what scripts see as the time and as chance; the thread belongs to shells alone. */
export interface Surroundings {
  set(time: number, draw: () => number): void
}

/** One virtual machine. Scripts run strictly one after the other. */
export class VirtualShell {
  readonly #bash: Bash
  readonly #processes: ProcessTable
  readonly #surroundings: Surroundings
  readonly #draw: () => number
  #folders: readonly string[]
  #environment: Readonly<Record<string, string>> | undefined
  #scripts = 0

  /** @param seed of what scripts draw at random */
  constructor(world: World, seed: number, surroundings: Surroundings) {
    this.#surroundings = surroundings
    this.#draw = uniforms(seed)
    this.#folders = [home, '/tmp', ...world.folders]
    const table = new ProcessTable(world.processes)
    this.#processes = table
    surroundings.set(epoch, this.#draw)
    this.#bash = new Bash({
      files: Object.fromEntries(
        world.files.map(({ path, content, mode = defaultMode }) => [
          path,
          { content, mode, mtime: new Date(epoch - minute) },
        ]),
      ),
      cwd: home,
      env: { HOME: home, USER: 'user', LOGNAME: 'user', SHELL: '/bin/bash', LANG: 'C.UTF-8' },
      executionLimits: limits,
      executionLimitProfile: 'hardened',
      processInfo: { pid: 100, ppid: 1, uid: 1000, gid: 1000 },
      commands: getCommandNames().filter((name) => !leftOut.has(name)) as CommandName[],
      // Waiting takes no time here: the clock moves from script to script.
      sleep: async () => {},
      customCommands: [
        defineCommand('ps', async (given) => table.ps(given)),
        defineCommand('pgrep', async (given) => table.pgrep(given)),
        defineCommand('pkill', async (given) => table.pkill(given)),
        defineCommand('kill', async (given) => table.kill(given)),
      ],
    })
  }

  /** Runs a script; whatever it does is an answer. */
  async run(script: string): Promise<ShellResult> {
    this.#scripts += 1
    this.#surroundings.set(epoch + this.#scripts * minute, this.#draw)
    for (const folder of this.#folders) await this.#bash.fs.mkdir(folder, { recursive: true })
    this.#folders = []
    const before = this.#environment
    const carried = before === undefined ? {} : { env: before, replaceEnv: true, cwd: before.PWD ?? home }
    // Both streams in the order of writing, as a terminal shows them.
    const { stdout, stderr, exitCode, env } = await this.#bash.exec(`exec 2>&1\n${script}`, {
      rawScript: true,
      ...carried,
    })
    if (JSON.stringify(env).length <= environmentLimit) this.#environment = env
    return { output: `${stdout}${stderr}`.slice(0, outputLimit), exitCode }
  }

  /** The present files and processes of the machine, read without the shell. */
  async snapshot(): Promise<ShellSnapshot> {
    const { fs } = this.#bash
    const entries: (readonly [string, FoundEntry])[] = []
    for (const path of fs.getAllPaths()) {
      if (systemFolders.some((folder) => path === folder || path.startsWith(`${folder}/`))) continue
      const { isFile, isDirectory, mode } = await fs.lstat(path)
      if (isFile)
        entries.push([
          path,
          { kind: 'file', mode, content: new TextDecoder().decode(await fs.readFileBuffer(path)) },
        ])
      else if (isDirectory) entries.push([path, { kind: 'folder', mode }])
      else entries.push([path, { kind: 'link', target: await fs.readlink(path) }])
    }
    return { entries, processes: this.#processes.processes }
  }
}
