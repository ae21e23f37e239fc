/**
 * An agent's own program in the configuration of a task: its command, where its reward comes from, and its bounds.
 *
 * Invariants
 * - Every field but the command and the source of the reward has a default, and all have bounds and a description.
 */
import { z } from 'zod'
import { count, positive, text } from './bounded-field.ts'

/** Where the reward of an agent's episode comes from. */
export const agentRewards = ['grader', 'file', 'post'] as const

const agentSchema = z.strictObject({
  command: z
    .array(text)
    .min(1)
    .max(64)
    .describe(
      'The program and its arguments, e.g. `[python3, ./agent.py]`. Words that begin with `./` or `../` are paths.',
    ),
  reward: z
    .enum(agentRewards)
    .describe(
      "`grader`: the environment's step grades the last answer; `file`: the last line of `PERDURE_RESULT_FILE`; `post`: `POST /episodes/KEY/reward`.",
    ),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
    .default({})
    .describe('Variables of its environment, e.g. references to secrets; it has few others.'),
  timeoutSeconds: positive(86_400)
    .default(600)
    .describe('Seconds of an episode, without those in which a turn is sampled.'),
  silentSeconds: positive(86_400)
    .default(300)
    .describe('Seconds without a request after which it is ended without a reward.'),
  turnLimit: count(1000).default(40).describe('Turns of an episode, all branches together.'),
  tokenLimit: count(100_000_000).default(1_000_000).describe('Tokens of an episode, all branches together.'),
  processLimit: count(4096).default(128).describe('Processes that it may have at once.'),
  requestMegabytes: positive(64).default(16).describe('Largest request.'),
})

/** The program that plays the episodes of a task. */
export type AgentConfig = z.output<typeof agentSchema>

/** The field of a task that configures one. */
export const ownAgent = {
  agent: agentSchema
    .optional()
    .describe(
      "[An agent's own program](foreign-environments.md#agents) that plays the episodes, where the environment has one turn.",
    ),
}
