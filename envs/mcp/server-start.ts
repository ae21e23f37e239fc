/**
 * How a server is started for an episode: a program in an empty folder of its own, or a session at an address.
 *
 * Invariants
 * - [SERVER-START-1] A program has PATH, HOME and the variables that its author names in its environment, and nothing else.
 * - [SERVER-START-2] A folder is under a lease: what a killed worker leaves of it, and the processes that work in it, are ended when the
 *   environment is opened, and from time to time.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AddressFault, readServerUrl } from '../../machine/network/remote-address.ts'
import {
  createProcessLeases,
  holdLeases,
  leaseFolder,
  reapFolders,
  reapingPeriodMs,
} from '../../machine/processes/lease.ts'
import { endMarked } from '../../machine/processes/process-group.ts'
import { withReferencesFilled } from '../../machine/secrets/secret.ts'
import { clock } from '../../machine/services/clock.ts'
import { EnvironmentFault, type TaskOptions } from '../contract/environment.ts'
import { ServerFolder } from './episode-folder.ts'
import { McpConnection } from './mcp-connection.ts'
import type { McpAddress, McpProgram } from './mcp-definition.ts'
import type { StartedServer } from './server-pool.ts'

/** Starts servers of an environment. */
export interface ServerStart {
  /** Names the server in messages. */
  readonly shown: string
  start(signal: AbortSignal): Promise<StartedServer>
  /** Removes what lies around the servers, which have ended. */
  close(): Promise<void>
}

/** @param withinMs how long one may take to start */
export async function serverStart(
  name: string,
  server: McpProgram | McpAddress,
  withinMs: number,
  options: TaskOptions,
): Promise<ServerStart> {
  return 'url' in server
    ? addressStart(name, server, withinMs)
    : await programStart(name, server, withinMs, options)
}

function addressStart(
  name: string,
  { url: written, headers = {} }: McpAddress,
  withinMs: number,
): ServerStart {
  const { url, authorization } = addressOf(name, written)
  const login: Record<string, string> = authorization === undefined ? {} : { authorization }
  const given = { ...login, ...filled(headers, `server.headers of ${name}`) }
  return {
    shown: written,
    async start(signal) {
      const connection = await McpConnection.open({ shown: written, url, headers: given }, withinMs, signal)
      return { connection, folder: new ServerFolder(), end: () => connection.close() }
    },
    close: async () => undefined,
  }
}

async function programStart(
  name: string,
  { command, args = [], env = {} }: McpProgram,
  withinMs: number,
  { folder, leases = createProcessLeases() }: TaskOptions,
): Promise<ServerStart> {
  const shown = [command, ...args].join(' ')
  const named = filled(env, `server.env of ${name}`)
  const parent = folder === undefined ? await mkdtemp(join(tmpdir(), 'perdure-mcp-')) : join(folder, name)
  const reap = async () => {
    for (const left of await reapFolders(parent, leases)) await endMarked(left)
  }
  await reap()
  // The leases of a worker that was killed a moment ago have not expired yet. A pass that fails is followed by another.
  const reaping = clock.every(reapingPeriodMs, () => void reap().catch(() => undefined)).unref()
  // A lease that could not be renewed is tried again.
  const holder = holdLeases(leases, () => undefined)
  return {
    shown,
    async start(signal) {
      const lease = await leaseFolder(parent, leases.scope, holder)
      const { path } = lease
      try {
        const place = {
          shown,
          mark: path,
          command: { command, args, cwd: path, env: { PATH: process.env.PATH ?? '', HOME: path, ...named } },
        }
        const connection = await McpConnection.open(place, withinMs, signal)
        const end = async () => {
          await connection.close()
          await lease.release()
        }
        return { connection, folder: new ServerFolder(path), end }
      } catch (cause) {
        await lease.release()
        throw cause
      }
    },
    async close() {
      reaping.cancel()
      holder.close()
      if (folder === undefined) await rm(parent, { recursive: true, force: true })
    },
  }
}

/** @throws EnvironmentFault `bad_settings` */
function addressOf(name: string, written: string): ReturnType<typeof readServerUrl> {
  try {
    return readServerUrl(written, (part) => filled(part, `server.url of ${name}`))
  } catch (cause) {
    if (!(cause instanceof AddressFault)) throw cause
    throw new EnvironmentFault('bad_settings', `server.url of ${name} is ${cause.message}`, { cause })
  }
}

/** @throws EnvironmentFault `bad_settings` for a secret that is not here */
function filled<Value>(value: Value, at: string): Value {
  return withReferencesFilled(
    value,
    at,
    ({ at: key, needed, cause }) =>
      new EnvironmentFault('bad_settings', `\`${key}\` needs ${needed}`, { cause }),
  )
}
