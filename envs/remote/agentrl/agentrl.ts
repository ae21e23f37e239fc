/**
 * Tasks behind an AgentRL controller: `agentrl+http://HOST:PORT/api#NAME`.
 *
 * Invariants
 * - [AGENTRL-TASK-1] An instance is `SPLIT/POSITION` in the split's list of indices. Without `splits` the last fifth of the indices is
 *   `test` and the others are `train`.
 */
import { z } from 'zod'
import type { RemoteAddress } from '../../../machine/network/remote-address.ts'
import { readJson } from '../../../messages/read-json.ts'
import { EnvironmentFault, type Task, type TaskOptions } from '../../contract/environment.ts'
import { instanceIn, placeOf } from '../../contract/indexed-splits.ts'
import { remoteSettings, remoteSettingsOf, splitName } from '../base/remote-settings.ts'
import { askForJson, askServer, expecting, headersOf, notOffered, type RemoteServer } from '../base/server.ts'
import { AgentRlSession } from './agentrl-session.ts'

const settingsSchema = z.strictObject({
  ...remoteSettings,
  splits: z.record(splitName, z.string().regex(/^\d+-\d+$/)).optional(),
})

const expected = 'the /api of an AgentRL controller (agentrl-worker 0.4, or `perdure env serve`)'
/** One of so many instances is of the test. */
const testShare = 5

/** The names of the tasks that a controller offers. @throws EnvironmentFault */
export async function offeredByAgentRl(address: RemoteAddress): Promise<readonly string[]> {
  const server = { address, headers: headersOf(address, {}) }
  return await expecting(expected, (leftMs) => listed(server, leftMs()))
}

/** @throws EnvironmentFault */
async function listed(server: RemoteServer, withinMs: number): Promise<readonly string[]> {
  const workers = await askForJson(server, { path: '/list_workers', withinMs, lost: 'backend' })
  return typeof workers === 'object' && workers !== null ? Object.keys(workers) : []
}

/** @param name of the task here, and there where the address has no other @throws EnvironmentFault */
export async function openAgentRl(name: string, address: RemoteAddress, options: TaskOptions): Promise<Task> {
  const settings = remoteSettingsOf(name, settingsSchema, options)
  const server = { address, headers: headersOf(address, settings.headers) }
  const task = address.name ?? name
  const indices = await expecting(expected, (leftMs) => indicesOf(server, task, leftMs))
  const lists =
    settings.splits === undefined ? divided(indices) : chosen(settings.splits, indices, address.shown)
  const splits = [...lists].map(([split, { length }]) => ({ name: split, size: length }))
  const rules = {
    ...{ server, task, resetMs: settings.resetSeconds * 1000, stepMs: settings.stepSeconds * 1000 },
    indexOf(instance: string) {
      const { split, index } = placeOf(splits, instance)
      return lists.get(split)?.[index] ?? -1
    },
  }
  return {
    splits,
    instanceAt: (split, index) => instanceIn(name, splits, split, index),
    create: async () => new AgentRlSession(rules),
    close: async () => undefined,
  }
}

type Index = number | string
const indicesSchema = z.array(z.union([z.int(), z.string()])).min(1)

/** @throws EnvironmentFault */
async function indicesOf(
  server: RemoteServer,
  task: string,
  leftMs: () => number,
): Promise<readonly Index[]> {
  const request = { path: '/get_indices', query: { name: task }, lost: 'backend' } as const
  const answer = await askServer(server, { ...request, withinMs: leftMs() })
  const read = indicesSchema.safeParse(answer.status === 200 ? readJson(answer.text) : undefined)
  if (read.success) return read.data
  const offered: readonly string[] = await listed(server, leftMs()).catch(() => [])
  const { shown } = server.address
  if (offered.length === 0 || offered.includes(task))
    throw new EnvironmentFault(
      'backend',
      `${shown}: /get_indices answered with status ${answer.status} and no list`,
    )
  throw notOffered(server.address, task, offered)
}

function divided(indices: readonly Index[]): ReadonlyMap<string, readonly Index[]> {
  const end = indices.length - Math.ceil(indices.length / testShare)
  const parts: readonly (readonly [string, readonly Index[]])[] = [
    ['train', indices.slice(0, end)],
    ['test', indices.slice(end)],
  ]
  return new Map(parts.filter(([, { length }]) => length > 0))
}

/** @throws EnvironmentFault `bad_settings` */
function chosen(
  splits: Readonly<Record<string, string>>,
  indices: readonly Index[],
  shown: string,
): ReadonlyMap<string, readonly Index[]> {
  return new Map(
    Object.entries(splits).map(([split, range]) => {
      const [first = 0, last = 0] = range.split('-').map(Number)
      const found = indices.slice(first, last + 1)
      if (found.length !== last - first + 1)
        throw new EnvironmentFault(
          'bad_settings',
          `splits.${split} is ${range}, and ${shown} has the positions 0-${indices.length - 1}`,
        )
      return [split, found] as const
    }),
  )
}
