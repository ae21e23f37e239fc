/**
 * Containers: an engine of their own, a small task whose episodes live in them, and the hand that kills one.
 *
 * Invariants
 * - Who kills a container says so to the engine, as `docker kill` does: nothing in it has ended it.
 * - Disposal ends the engine with all that is in it.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { busyboxTar, engineMissing, startEngine } from '../../test/host/container-engine.ts'
import { labels } from '../../worlds/containers/container-settings.ts'
import { connectEngine, isGone } from '../../worlds/containers/engine.ts'
import { importImage } from '../../worlds/containers/images.ts'

export interface Containers extends AsyncDisposable {
  /** The environment of a process that finds this engine. */
  readonly environment: Readonly<Record<string, string>>
  /** The task, as a configuration has it. */
  readonly task: Readonly<Record<string, string>>
  /** Names of the containers that run under leases of a scope. */
  of(scope: string): Promise<readonly string[]>
  /** Kills a container; if it has ended meanwhile, that is no error. */
  kill(name: string): Promise<void>
}

const image = 'perdure-chaos:1'

/** @returns why there can be none, where there can be none */
export async function openContainers(): Promise<Containers | string> {
  const missing = engineMissing()
  if (missing !== undefined) return missing
  await using stack = new AsyncDisposableStack()
  const data = stack.adopt(mkdtempSync(join(tmpdir(), 'perdure-chaos-items-')), (folder) =>
    rmSync(folder, { recursive: true, force: true }),
  )
  writeItems(data)
  const { address } = stack.adopt(await startEngine(), (engine) => engine.close())
  const engine = await connectEngine(address)
  await importImage(engine, image, busyboxTar({ bash: true }))
  const resources = stack.move()
  return {
    environment: { DOCKER_HOST: address },
    task: { task: 'os', data, 'settings.image': image },
    async of(scope) {
      const found = await engine.docker.listContainers({
        filters: { label: [`${labels.scope}=${scope}`], status: ['running'] },
      })
      return found.map(({ Id }) => Id).toSorted()
    },
    async kill(name) {
      try {
        await engine.docker.getContainer(name).kill()
      } catch (error) {
        if (!isGone(error)) throw error
      }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const itemCount = 20

/** Questions that one command answers, in the form of AgentBench's items. */
function writeItems(folder: string): void {
  const items = Array.from({ length: itemCount }, (_, index) => ({
    description: `How many files are in /root/box${index}?`,
    create: {
      init: { code: `mkdir /root/box${index} && cd /root/box${index} && touch $(seq ${index + 1})` },
    },
    evaluation: { match: String(index + 1), example: { code: `ls /root/box${index} | wc -l` } },
  }))
  mkdirSync(join(folder, 'train_boxes'))
  writeFileSync(join(folder, 'train_boxes', 'training.json'), JSON.stringify(items))
}
