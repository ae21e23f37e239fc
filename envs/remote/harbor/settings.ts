/**
 * Settings of Harbor's task folders.
 *
 * Invariants
 * - Every setting has a default; empty settings are valid ones.
 */
import { z } from 'zod'
import { splitName } from '../base/remote-settings.ts'

export const settingsSchema = z.strictObject({
  replayable: z.boolean().default(true),
  /** Names of folders by split; `*` is any letters. */
  splits: z.record(splitName, z.array(z.string().min(1)).min(1)).optional(),
  /** Images in the place of those that the folders name. */
  images: z.record(z.string(), z.string().min(1)).default({}),
  network: z.literal('none').optional(),
  /** Values of the variables that task files refer to. */
  env: z.record(z.string(), z.string()).default({}),
  /** The key of the reward where the verifier writes several. */
  reward: z.string().min(1).default('reward'),
  /** Longest time of one command. */
  commandSeconds: z.number().min(1).max(3600).default(120),
  /** Letters of an output that the agent reads. */
  outputLetters: z.int().min(200).max(100_000).default(10_000),
})

export type HarborSettings = z.output<typeof settingsSchema>
