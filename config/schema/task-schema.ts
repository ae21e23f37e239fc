/** The keys of one task: `tasks.N`. */
import { z } from 'zod'
import { longestUnit, metricName } from '../../learning/evaluation/measure.ts'
import { fullReward, largestReward, notCompletedRules } from '../../learning/evaluation/reward.ts'
import { ownAgent } from './agent-schema.ts'
import { askedModels } from './asked-model-schema.ts'
import { count, live, text } from './bounded-field.ts'

const successSchema = z.strictObject({
  atLeast: z
    .number()
    .min(-largestReward)
    .max(largestReward)
    .default(fullReward)
    .describe('Final reward from which on an episode is a success.'),
  demonstrated: z
    .number()
    .min(-largestReward)
    .max(largestReward)
    .optional()
    .describe('Reward from which on a demonstration is imitated; `atLeast` by default.'),
})

const metricSchema = z.strictObject({
  better: z.enum(['higher', 'lower']),
  unit: text.max(longestUnit).optional(),
  otherwise: z.number().optional(),
})

export const taskSchema = z.strictObject({
  task: text.default('alfworld').describe('Name of a task; `npx perdure env list` shows them.'),
  from: text
    .optional()
    .describe(
      'Where a task of your own comes from: a module or folder by path (`./guess-number`), an installed package by name, [a server by its address](foreign-environments.md#servers) (`openenv+http://HOST:PORT`), or [task folders](foreign-environments.md#harbors-task-folders) (`harbor+./tasks`).',
    ),
  weight: live('tasks.N.weight'),
  data: text.optional().describe('Folder with official data; without it the built-in generator is used.'),
  split: text
    .default('train')
    .describe(
      'Split that training instances are drawn from. Several names may be joined by `|`: the first that the data has is used.',
    ),
  objective: text
    .optional()
    .describe(
      'Algorithm whose policy loss this task has, as in `learning.algorithm`, except `imitation`; that of the run by default.',
    ),
  turnLimit: count(1000).optional().describe("Turns of an episode; the task's own limit by default."),
  ...ownAgent,
  ...askedModels,
  success: successSchema.prefault({}).describe('The rule by which an episode counts as a success.'),
  notCompleted: z
    .enum(notCompletedRules)
    .default('penalty')
    .describe(
      'Reward of an episode that did not complete: `penalty` is `learning.notCompletedPenalty`, `keep` what it was paid, `add` both together.',
    ),
  metrics: z
    .record(z.string().regex(metricName), metricSchema)
    .default({})
    .describe('Metrics that the environment declares; a start fills them in.'),
  settings: z.record(z.string(), z.json()).default({}).describe("The task's own settings."),
  demonstrationSettings: z
    .record(z.string(), z.json())
    .default({})
    .describe('Settings that apply to the demonstrations only, e.g. to show more of a rare kind of problem.'),
})
