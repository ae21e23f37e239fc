/**
 * Environments behind an OpenEnv server: `openenv+http://HOST:PORT`.
 *
 * Invariants
 * - [OPENENV-TASK-1] An episode is one connection, which is closed with it.
 * - [OPENENV-TASK-2] Without `resets` the instances are endless, each with a seed that follows from its name, and no seed of `train` is one of
 *   `test`; with them, each has the arguments of its reset.
 */
import { z } from 'zod'
import { seedOf } from '../../../identity/identity.ts'
import type { RemoteAddress } from '../../../machine/network/remote-address.ts'
import { readJson } from '../../../messages/read-json.ts'
import { type AgentTool, fieldsOf, refused } from '../../contract/agent-tool.ts'
import {
  EnvironmentFault,
  type InstanceId,
  type Split,
  type Task,
  type TaskOptions,
} from '../../contract/environment.ts'
import { instanceIn, placeOf } from '../../contract/indexed-splits.ts'
import { type Opening, type SessionRules, ToolSession } from '../../contract/tool-session.ts'
import { nothingToRead, observedText } from '../base/observed-text.ts'
import { remoteSettings, remoteSettingsOf, splitName } from '../base/remote-settings.ts'
import {
  askForJson,
  askServer,
  expecting,
  headersOf,
  notOffered,
  type RemoteServer,
  whenThereIsRoom,
} from '../base/server.ts'
import { type Observed, OpenEnvConnection } from './connection.ts'
import { actTool, callsTools, mcpTools, type OpenEnvPlay } from './openenv-tools.ts'

const settingsSchema = z.strictObject({
  ...remoteSettings,
  resets: z.record(splitName, z.array(z.record(z.string(), z.json())).min(1)).optional(),
  prompt: z.string().optional(),
})
type Settings = z.output<typeof settingsSchema>

const endless: readonly Split[] = ['train', 'test'].map((name) => ({ name, size: Number.POSITIVE_INFINITY }))

/** The names of the environments that a server offers; none where it does not say. @throws EnvironmentFault */
export async function offeredByOpenEnv(address: RemoteAddress): Promise<readonly string[]> {
  const server = { address, headers: headersOf(address, {}) }
  return await expecting(expected, (leftMs) => listed(server, leftMs()))
}

/** @throws EnvironmentFault */
async function listed(server: RemoteServer, withinMs: number): Promise<readonly string[]> {
  const { status, text } = await askServer(server, { path: '/list_environments', withinMs, lost: 'backend' })
  const read = z.array(z.string()).safeParse(status === 200 ? readJson(text) : [])
  return read.success ? read.data : []
}

/** @throws EnvironmentFault */
export async function openOpenEnv(name: string, address: RemoteAddress, options: TaskOptions): Promise<Task> {
  const settings = remoteSettingsOf(name, settingsSchema, options)
  const server = { address, headers: headersOf(address, settings.headers) }
  const tools = await expecting(expected, async (leftMs) => {
    await checkName(server, leftMs())
    return await toolsOf(server, leftMs)
  })
  const { resets } = settings
  const splits =
    resets === undefined
      ? endless
      : Object.entries(resets).map(([split, { length }]) => ({ name: split, size: length }))
  const names = tools.map(({ spec }) => spec.function.name)
  const advice = `Call ${names.length === 1 ? 'the tool' : 'one of the tools'} ${names.join(', ')}.`
  const rules: SessionRules<OpenEnvPlay> = {
    tools,
    unnamed: 'error',
    noSuchTool: () => `There is no such tool. ${advice}`,
    noCall: () => refused(advice),
    over: 'The episode is over.',
    idle: `no episode of ${name} is being played here`,
    open: (instance) => begun(server, settings, resetArguments(splits, resets, instance)),
    facts: (_, facts) => Object.assign({}, ...facts),
    close: ({ connection }) => connection.close(),
  }
  return {
    splits,
    instanceAt: (split, index) => instanceIn(name, splits, split, index),
    create: async (ask) => new ToolSession(rules, ask),
    close: async () => undefined,
  }
}

async function checkName(server: RemoteServer, withinMs: number): Promise<void> {
  const { name } = server.address
  if (name === undefined) return
  const offered = await listed(server, withinMs)
  if (offered.length === 0 || offered.includes(name)) return
  throw notOffered(server.address, name, offered)
}

/** The expected server. */
const expected = 'a server of OpenEnv (openenv 0.10, openenv-core 0.3)'

/** The tools of the server, which shows that it can be played. @throws EnvironmentFault */
async function toolsOf(
  server: RemoteServer,
  leftMs: () => number,
): Promise<readonly AgentTool<OpenEnvPlay>[]> {
  const { shown } = server.address
  const answer = await askForJson(server, { path: '/schema', withinMs: leftMs(), lost: 'backend' })
  const { action } = fieldsOf(answer)
  if (typeof action !== 'object' || action === null)
    throw new EnvironmentFault('backend', `${shown}: /schema has no action`)
  const acts = callsTools(action) ? undefined : [actTool(shown, action)]
  // A full server speaks the protocol too, and lists its tools once there is room.
  return await whenThereIsRoom(shown, leftMs(), async (left) => {
    const connection = await OpenEnvConnection.open(server, left)
    try {
      return acts ?? (await mcpTools(connection, shown, left))
    } finally {
      connection.close()
    }
  })
}

/** The arguments of an instance's reset, by which it is what it is. @throws EnvironmentFault `unknown_instance` */
function resetArguments(splits: readonly Split[], resets: Settings['resets'], instance: InstanceId): object {
  const { split, index } = placeOf(splits, instance)
  // Even and odd: what is drawn for the one split is never drawn for the other.
  const seed = 2 * (seedOf(0, 'openenv', instance) >>> 2) + (split === 'test' ? 1 : 0)
  return { seed, ...resets?.[split]?.[index] }
}

/** @throws EnvironmentFault */
async function begun(server: RemoteServer, settings: Settings, data: object): Promise<Opening<OpenEnvPlay>> {
  const { shown } = server.address
  const { resetSeconds, stepSeconds, prompt } = settings
  return await whenThereIsRoom(shown, resetSeconds * 1000, async (left) => {
    const connection = await OpenEnvConnection.open(server, left)
    try {
      const observed = await connection.reset(data, left)
      if ('invalid' in observed)
        throw new EnvironmentFault(
          'bad_data',
          `${shown}: it refuses the arguments of the reset (${observed.invalid}): see settings.resets`,
        )
      if (observed.done) throw new EnvironmentFault('bad_data', `${shown}: the episode is over at its reset`)
      const play = { connection, shown, stepMs: stepSeconds * 1000 }
      return { play, prompt: firstWords(prompt, observed) }
    } catch (cause) {
      connection.close()
      throw cause
    }
  })
}

function firstWords(prompt: string | undefined, { observation }: Observed): string {
  const seen = observedText(observation)
  if (prompt === undefined) return seen
  return seen === nothingToRead ? prompt : `${prompt}\n\n${seen}`
}
