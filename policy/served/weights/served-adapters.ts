/**
 * Versions at a server that are adapters over the model that it was started with.
 *
 * Invariants
 * - [SERVED-ADAPTER-1] An adapter's name holds a part of the checksum of its checkpoint: two of the same name have the same contents,
 *   so that one that another process has loaded is the right one, and so is what a server has cached for it.
 * - Loading what is there and unloading what is gone are no failures.
 */
import { resolve } from 'node:path'
import { reasonOf } from '../../../faults/reason.ts'
import { manifestHash, readManifest } from '../../checkpoints/manifest.ts'
import { EngineFault } from '../../engines/engine.ts'
import { callForText } from '../server-call.ts'
import type { AdapterProtocol, ServedAdapter } from '../server-protocol.ts'

/** Digits of the checksum; no run has so many versions that two share them. */
const checksumDigits = 8
/** Reading an adapter from a network disk. */
const loadMs = 120_000
/** Forgetting one takes no time; a worker that ends waits for it. */
const unloadMs = 10_000
const answerBytes = 2 ** 20

/** The adapter of a checkpoint; undefined where it is a whole policy. @param version `RUN@7` @throws CheckpointFault */
export async function adapterIn(checkpointDir: string, version: string): Promise<ServedAdapter | undefined> {
  const { base } = await readManifest(checkpointDir)
  if (base === undefined) return undefined
  return { name: await versionName(checkpointDir, version), dir: resolve(checkpointDir) }
}

/** The name of a version at servers. @param version `RUN@7` @throws CheckpointFault */
export async function versionName(checkpointDir: string, version: string): Promise<string> {
  return `${version}-${(await manifestHash(checkpointDir)).slice(0, checksumDigits)}`
}

/** The servers of an engine, and how they are called. */
type Servers = readonly { readonly url: string; readonly name: string }[]
interface CallSettings {
  readonly apiKey: string | undefined
  readonly log: (line: string) => void
}

/** The adapters of an engine's versions at its servers. */
export class ServedAdapters {
  readonly #protocol: AdapterProtocol | undefined
  readonly #servers: Servers
  readonly #settings: CallSettings
  /** Requests that have no result yet, by name, and adapters that are unloaded after theirs. */
  readonly #open = new Map<string, number>()
  readonly #released = new Map<string, ServedAdapter>()

  /** @param protocol undefined where a server loads none */
  constructor(protocol: AdapterProtocol | undefined, servers: Servers, settings: CallSettings) {
    this.#protocol = protocol
    this.#servers = servers
    this.#settings = settings
  }

  /** The name in a request. Where a server loads none, an adapter is version 0, which equals its base. */
  nameOf(adapter: ServedAdapter | undefined): string | undefined {
    return this.#protocol && adapter?.name
  }

  /** @throws EngineFault the server cannot be reached, or does not take it */
  async load(url: string, adapter: ServedAdapter | undefined, signal: AbortSignal): Promise<void> {
    const protocol = this.#protocol
    if (protocol === undefined || adapter === undefined) return
    this.#released.delete(adapter.name)
    const { apiKey } = this.#settings
    try {
      await callForText({ url, ...protocol.load(adapter) }, { apiKey, signal, answerMs: loadMs, answerBytes })
    } catch (fault) {
      if (!(fault instanceof EngineFault)) throw fault
      const isRefused = fault.kind === 'refused' || protocol.isUnfit(fault.message)
      if (!isRefused) throw fault
      if (protocol.isThere(fault.message)) return
      throw new EngineFault('refused', `${fault.message}; ${protocol.advice}`, { cause: fault })
    }
  }

  /** Counts a request. @returns what is called at its end */
  use(adapter: ServedAdapter | undefined): () => void {
    if (adapter === undefined) return () => undefined
    const { name } = adapter
    this.#open.set(name, (this.#open.get(name) ?? 0) + 1)
    return () => {
      const left = (this.#open.get(name) ?? 1) - 1
      if (left > 0) this.#open.set(name, left)
      else {
        this.#open.delete(name)
        void this.#unload(name)
      }
    }
  }

  /** Unloads an adapter once no request of it is open. */
  async release(adapter: ServedAdapter): Promise<void> {
    this.#released.set(adapter.name, adapter)
    await this.#unload(adapter.name)
  }

  /** A refusal of a request whose adapter the server has no more, as a loss of the server: it is made fit again. */
  asLoss(fault: unknown, adapter: ServedAdapter | undefined): unknown {
    const isRefused = adapter !== undefined && fault instanceof EngineFault && fault.kind === 'refused'
    if (!isRefused || this.#protocol?.isGone(fault.message) !== true) return fault
    return new EngineFault('unreachable', fault.message, { cause: fault })
  }

  /** Never rejects: what stays loaded costs a server memory, and nothing is sampled from it. */
  async #unload(name: string): Promise<void> {
    const protocol = this.#protocol
    if (protocol === undefined || this.#open.has(name) || !this.#released.delete(name)) return
    const { apiKey, log } = this.#settings
    const unloading = this.#servers.map(async ({ url, name: server }) => {
      try {
        await callForText({ url, ...protocol.unload(name) }, { apiKey, answerMs: unloadMs, answerBytes })
      } catch (fault) {
        // The server refuses where the adapter is not there, as after a restart.
        if (fault instanceof EngineFault && fault.kind === 'refused') return
        log(`${server} could not unload ${name}: ${reasonOf(fault)}`)
      }
    })
    await Promise.all(unloading)
  }
}
