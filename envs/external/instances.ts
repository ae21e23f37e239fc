/**
 * The instances of an environment of a user's own, and how an episode of each starts.
 *
 * Invariants
 * - An instance is named `<split>/<index>`; every other name is an unknown instance.
 * - Settings that it does not know are refused by name, and so is a data folder that nothing reads.
 */
import { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import { EnvironmentFault, type InstanceId, type Split, type TaskOptions } from '../contract/environment.ts'
import { placeOf } from '../contract/indexed-splits.ts'
import type { Ask } from '../contract/question.ts'
import { settingsOf } from '../contract/task-settings.ts'
import { type DefinedInstances, type DefinedSplits, type EpisodeStart, instanceRandom } from './definition.ts'

const endless: DefinedSplits<never> = { train: Number.POSITIVE_INFINITY, test: Number.POSITIVE_INFINITY }

/** The opened instances. */
export interface Instances<Item, Settings> {
  readonly splits: readonly Split[]
  /** @throws EnvironmentFault `unknown_instance` */
  startOf(instance: InstanceId, ask: Ask): EpisodeStart<Item, Settings>
}

/** Opens the instances. @throws EnvironmentFault `bad_settings`, `bad_data` */
export async function openInstances<Item, Settings extends z.ZodObject>(
  name: string,
  definition: DefinedInstances<Item, Settings>,
  { dataDir, settings: given }: TaskOptions,
): Promise<Instances<Item, z.output<Settings>>> {
  const settings = readSettings(name, definition.settings, given)
  const listed = await splitsOf(name, definition, dataDir, settings)
  const splits = Object.entries(listed).map(([split, entries]) => sized(name, split, entries))
  return {
    splits,
    startOf(instance, ask) {
      const { split, index } = placeOf(splits, instance)
      const entries = listed[split]
      const item = (typeof entries === 'object' ? entries[index] : undefined) as Item
      return { instance, split, index, item, settings, random: instanceRandom(name, instance), ask }
    },
  }
}

function readSettings<Settings extends z.ZodObject>(
  name: string,
  schema: Settings | undefined,
  given: JsonObject | undefined,
): z.output<Settings> {
  const settings = schema ?? z.strictObject({})
  const strict = settings._zod.def.catchall === undefined ? settings.strict() : settings
  return settingsOf(name, strict, given) as z.output<Settings>
}

async function splitsOf<Item, Settings extends z.ZodObject>(
  name: string,
  { splits = endless }: DefinedInstances<Item, Settings>,
  dataDir: string | undefined,
  settings: z.output<Settings>,
): Promise<DefinedSplits<Item>> {
  if (typeof splits === 'function') return splits({ dataDir, settings })
  if (dataDir !== undefined)
    throw new EnvironmentFault('bad_data', `${name} reads no data folder: leave \`data\` out`)
  return splits
}

function sized(name: string, split: string, entries: number | readonly unknown[]): Split {
  const size = typeof entries === 'number' ? entries : entries.length
  if (!(size >= 1 && (Number.isSafeInteger(size) || size === Number.POSITIVE_INFINITY)))
    throw new EnvironmentFault(
      'bad_data',
      `the split ${split} of ${name} has ${size} instances, expected a whole number from 1 on`,
    )
  return { name: split, size }
}
