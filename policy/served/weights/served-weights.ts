/**
 * Versions at a server that are whole models, each loaded in the place of the one before, while it runs.
 *
 * Invariants
 * - [SERVED-WEIGHTS-1] The server itself says which version it has, by a name that holds a part of the checksum of its checkpoint. While
 *   weights are loaded the served name is a mark, not a version; samples taken meanwhile are discarded.
 * - [SERVED-WEIGHTS-2] No version is loaded over a newer one of the run, and none that the server has. If several processes find an older one
 *   at the same time, the last that sets its mark loads, and the others wait.
 * - [SERVED-WEIGHTS-3] Who pauses a server resumes it, whatever comes between; a mark whose process has ended, or whose load has failed,
 *   keeps no one from loading.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { reasonOf } from '../../../faults/reason.ts'
import { nameBeside } from '../../../machine/processes/partial-file.ts'
import { processOfScopeAlive, processScope } from '../../../machine/processes/process.ts'
import { modelFile, readManifest } from '../../checkpoints/manifest.ts'
import { checkpointDir } from '../../checkpoints/versions.ts'
import { EngineFault } from '../../engines/engine.ts'
import { fileFault } from '../../files/checkpoint-fault.ts'
import { callForText, callServer } from '../server-call.ts'
import type { InPlaceProtocol, ServedWhole, ServerRequestBody } from '../server-protocol.ts'
import { versionName } from './served-adapters.ts'

/** Reading hundreds of gigabytes from a network disk. */
const loadMs = 15 * 60_000
/** Renaming takes no time; a pause waits for the step that is being computed, and behind it. */
const callMs = 60_000
const answerBytes = 2 ** 20
/** Something may still run when a pause is said to have begun; what is refused as often is refused for good. */
const reloads = 3
/** A server that another process loads is asked so often whether it is done. */
const pollMs = 200
/** Separates the name of a version from the process that loads it. */
const markSign = '?'

/** The whole model of a checkpoint; undefined where it is an adapter. @param version `RUN@7` @throws CheckpointFault */
export async function wholeIn(dir: string, version: string): Promise<ServedWhole | undefined> {
  const { base } = await readManifest(dir)
  if (base !== undefined) return undefined
  const number = Number(version.slice(version.lastIndexOf('@') + 1))
  return { name: await versionName(dir, version), dir: resolve(dir), version: number }
}

/** One of the servers. */
interface Server {
  readonly url: string
  readonly name: string
}

interface WeightSettings {
  readonly run: string
  readonly apiKey: string | undefined
  readonly log: (line: string) => void
}

/** The name that a server's weights have. */
interface Found {
  readonly text: string
  /** The version of this run; undefined for every other. */
  readonly version: number | undefined
  /** Whether it is a version of a run, this one or another. */
  readonly isVersion: boolean
  /** Who loads, where it is a mark; empty where no one does any more. */
  readonly mark: string | undefined
}

/** The weights of an engine's servers. */
export class ServedWeights {
  readonly #protocol: InPlaceProtocol | undefined
  readonly #settings: WeightSettings
  /** Tells this engine from others of the process. */
  readonly #mark = `${processScope()}.${randomUUID().slice(0, 8)}`
  /** By address: what is done at a server, one after the other. */
  readonly #turns = new Map<string, Promise<unknown>>()
  /** Servers that had a version of the run. */
  readonly #had = new Set<string>()

  /** @param protocol undefined where a server keeps the weights that it was started with */
  constructor(protocol: InPlaceProtocol | undefined, settings: WeightSettings) {
    this.#protocol = protocol
    this.#settings = settings
  }

  /** The name that an answer's tokens must have; undefined where they have none. */
  nameOf(whole: ServedWhole | undefined): string | undefined {
    return this.#protocol && whole?.name
  }

  /**
   * Sees to it that a running server has a version, or a newer one of the run.
   * @returns the one that it has @throws EngineFault the server cannot be reached, or cannot load
   */
  async bring(server: Server, wanted: ServedWhole, signal: AbortSignal): Promise<ServedWhole> {
    const protocol = this.#protocol
    if (protocol === undefined) return wanted
    const before = this.#turns.get(server.url)
    const bringing = (async () => {
      await before?.catch(() => undefined)
      return await this.#bring(new PausableServer(server, protocol, this.#settings.apiKey), wanted, signal)
    })()
    this.#turns.set(server.url, bringing)
    bringing.catch(() => undefined)
    return await bringing
  }

  async #bring(server: PausableServer, wanted: ServedWhole, signal: AbortSignal): Promise<ServedWhole> {
    let waited = { mark: '', since: performance.now() }
    for (;;) {
      signal.throwIfAborted()
      const found = this.#found(await server.state(signal))
      const has = await this.#atLeast(found, wanted)
      if (has !== undefined) {
        // The process that brought it may have ended before it resumed.
        await server.resume()
        this.#had.add(server.url)
        return has
      }
      this.#refuseOthers(server, found)
      if (found.mark !== undefined && found.mark !== waited.mark)
        waited = { mark: found.mark, since: performance.now() }
      if (this.#isLoading(found.mark) && performance.now() < waited.since + loadMs) {
        await delay(pollMs, undefined, { signal }).catch(() => signal.throwIfAborted())
        continue
      }
      if (!(await this.#replace(server, wanted))) continue
      this.#settings.log(`${server.name} has version ${wanted.version} in place`)
      this.#had.add(server.url)
      return wanted
    }
  }

  /**
   * The mark comes before the pause: any process that the pause cuts finds it. The last of several marks wins, and a pause takes longer than
   * another process between its look and its mark.
   * @returns whether the server has the version now; otherwise another process was faster
   */
  async #replace(server: PausableServer, wanted: ServedWhole): Promise<boolean> {
    const mark = `${wanted.name}${markSign}${this.#mark}`
    // A load that another process has begun meanwhile is finished by that process.
    let isOwn = true
    const isMarked = async () => {
      const found = await server.state()
      isOwn = found === mark || this.#found(found).mark === undefined
      return found === mark
    }
    try {
      await server.rename(mark)
      await server.pause()
      if (!(await isMarked())) return false
      await using folder = await linkedModel(wanted.dir)
      await reloaded(server, folder.dir)
      // Another process may have resumed it meanwhile: nothing that runs on old keys and values may go on.
      await server.pause()
      if (!(await isMarked())) return false
      await server.rename(wanted.name)
      return true
    } catch (fault) {
      if (isOwn) await this.#giveUp(server, wanted)
      throw fault
    } finally {
      if (isOwn) await this.#resume(server)
    }
  }

  /** The weights are no version's now, and anyone may load. */
  async #giveUp(server: PausableServer, { name }: ServedWhole): Promise<void> {
    await server.rename(`${name}${markSign}`).catch(() => undefined)
  }

  /** Never rejects: a server that is gone is not paused any more. */
  async #resume(server: PausableServer): Promise<void> {
    try {
      await server.resume()
    } catch (fault) {
      this.#settings.log(`${server.name} could not be resumed: ${reasonOf(fault)}`)
    }
  }

  /** The server's version where that is the wanted one or a newer one; undefined otherwise. */
  async #atLeast({ text, version }: Found, wanted: ServedWhole): Promise<ServedWhole | undefined> {
    if (text === wanted.name) return wanted
    if (version === undefined || version <= wanted.version) return undefined
    const dir = checkpointDir(dirname(wanted.dir), version)
    // One of the same name in another home has other contents.
    const newer = await wholeIn(dir, `${this.#settings.run}@${version}`).catch(() => undefined)
    return newer?.name === text ? newer : undefined
  }

  #found(text: string): Found {
    const at = text.indexOf(markSign)
    const name = at < 0 ? text : text.slice(0, at)
    const [, run, number] = /^(.+)@(\d+)-[0-9a-f]+$/.exec(name) ?? []
    const isOwn = run === this.#settings.run && at < 0
    return {
      text,
      version: isOwn ? Number(number) : undefined,
      isVersion: run !== undefined,
      mark: at < 0 ? undefined : text.slice(at + 1),
    }
  }

  /** Whether a process loads: not this engine, which begins again, and not one that has ended. */
  #isLoading(mark: string | undefined): boolean {
    if (mark === undefined || mark === '' || mark === this.#mark) return false
    return processOfScopeAlive(mark.slice(0, mark.lastIndexOf('.'))) !== false
  }

  /** Two runs at one server would replace one another's versions without end. @throws EngineFault */
  #refuseOthers({ url, name }: PausableServer, { text, isVersion }: Found): void {
    if (!this.#had.has(url) || !isVersion || text.startsWith(`${this.#settings.run}@`)) return
    throw new EngineFault(
      'another_model',
      `${name} has ${text} of another run now: a server that has one version at a time serves one run`,
    )
  }
}

/** Loads again what a server refused to load: SGLang refuses where a request still runs. @throws EngineFault */
async function reloaded(server: PausableServer, dir: string): Promise<void> {
  for (let tried = 1; ; tried++)
    try {
      await server.reload(dir)
      return
    } catch (fault) {
      if (!(fault instanceof EngineFault) || fault.kind !== 'refused' || tried === reloads) throw fault
      await server.pause()
    }
}

/** The calls by which a server's weights are replaced. */
class PausableServer {
  readonly url: string
  readonly name: string
  readonly #protocol: InPlaceProtocol
  readonly #apiKey: string | undefined

  constructor({ url, name }: Server, protocol: InPlaceProtocol, apiKey: string | undefined) {
    this.url = url
    this.name = name
    this.#protocol = protocol
    this.#apiKey = apiKey
  }

  /** The name of its weights. */
  async state(signal?: AbortSignal): Promise<string> {
    const { statePath: path, nameIn } = this.#protocol
    const options = { apiKey: this.#apiKey, answerMs: loadMs, answerBytes, signal }
    const answer = await advised(this.#protocol, callServer({ url: this.url, path }, options))
    try {
      return nameIn(answer)
    } catch (cause) {
      throw new EngineFault('wrong_answer', `${this.name} does not say which weights it has`, { cause })
    }
  }

  pause(): Promise<void> {
    return this.#call(this.#protocol.pause, callMs)
  }

  resume(): Promise<void> {
    return this.#call(this.#protocol.resume, callMs)
  }

  rename(name: string): Promise<void> {
    return this.#call(this.#protocol.rename(name), callMs)
  }

  reload(dir: string): Promise<void> {
    return this.#call(this.#protocol.reload(dir), loadMs)
  }

  async #call(request: ServerRequestBody, answerMs: number): Promise<void> {
    const options = { apiKey: this.#apiKey, answerMs, answerBytes }
    await advised(this.#protocol, callForText({ url: this.url, ...request }, options))
  }
}

/** A server that refuses a call by which its weights are replaced was started otherwise. @throws EngineFault with what to do */
export async function advised<Answered>(
  { advice }: Pick<InPlaceProtocol, 'advice'>,
  calling: Promise<Answered>,
): Promise<Answered> {
  try {
    return await calling
  } catch (fault) {
    if (!(fault instanceof EngineFault) || fault.kind !== 'refused') throw fault
    throw new EngineFault('refused', `${fault.message}; ${advice}`, { cause: fault })
  }
}

/**
 * A folder with the weights of a checkpoint alone, for as long as a server reads it: servers take every file of tensors for weights, the
 * moments of the optimizer too.
 * @throws CheckpointFault `io`
 */
async function linkedModel(dir: string): Promise<AsyncDisposable & { readonly dir: string }> {
  const folder = nameBeside(dir)
  try {
    await mkdir(folder)
    for (const file of [modelFile, 'config.json'])
      await symlink(join('..', basename(dir), file), join(folder, file))
  } catch (cause) {
    throw fileFault(folder, 'writing it', cause)
  }
  return { dir: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
