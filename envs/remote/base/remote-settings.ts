/**
 * Settings of every environment behind a server.
 *
 * Invariants
 * - Equal actions are taken to lead to equal states only where the user says so: nothing else knows it of a server.
 */
import { z } from 'zod'
import { EnvironmentFault, type TaskOptions } from '../../contract/environment.ts'
import { settingsOf } from '../../contract/task-settings.ts'

const seconds = z.number().min(1).max(600)

/** The fields; each protocol adds its own. */
export const remoteSettings = {
  replayable: z.boolean().default(false),
  resetSeconds: seconds.default(60),
  stepSeconds: seconds.default(60),
  headers: z.record(z.string().regex(/^[\w-]{1,100}$/), z.string()).default({}),
} as const

/** A name of a split, as a setting. */
export const splitName = z.string().regex(/^[\w-]{1,40}$/)

/** The settings that a task is opened with. @throws EnvironmentFault `bad_settings`, also for a data folder */
export function remoteSettingsOf<Schema extends z.ZodObject>(
  name: string,
  schema: Schema,
  { settings: given, dataDir }: TaskOptions,
): z.output<Schema> {
  const settings = settingsOf(name, schema, given)
  if (dataDir !== undefined)
    throw new EnvironmentFault('bad_settings', `${name} reads no data folder: leave \`data\` out`)
  return settings
}

const known = z.looseObject(remoteSettings)

/** The settings that must be known before the task is opened; wrong ones are refused when it is. */
export function foreknown(settings: unknown): {
  readonly replayable: boolean
  readonly stepTimeoutSeconds: number
} {
  const read = known.safeParse(settings ?? {})
  const { replayable, resetSeconds, stepSeconds } = read.success ? read.data : known.parse({})
  // The session's own limits come first: they name the server.
  return { replayable, stepTimeoutSeconds: Math.max(resetSeconds, stepSeconds) + 60 }
}
