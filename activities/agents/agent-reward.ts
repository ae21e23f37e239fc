/**
 * The reward that an agent's program gives itself: as a line of a file, or posted.
 *
 * Invariants
 * - [AGENT-REWARD-1] A reward that is missing, no number, or beyond the bounds is a fault by name, never a reward of 0.
 */
import { open } from 'node:fs/promises'
import { z } from 'zod'
import { codeOf } from '../../faults/system-error.ts'
import { isRewarded, type Outcome, outcomes } from '../../learning/evaluation/outcome.ts'
import { largestReward } from '../../learning/evaluation/reward.ts'
import { excerptOf } from '../../machine/processes/line-child.ts'
import { readJson } from '../../messages/read-json.ts'
import { AgentFault } from './agent-fault.ts'

export interface GivenReward {
  readonly reward: number
  readonly outcome: Outcome
}

const schema = z.object({
  reward: z.number().min(-largestReward).max(largestReward),
  outcome: z.enum(outcomes).refine(isRewarded).default('completed'),
})

/** The last part of the file that is read. */
const tailBytes = 64 * 1024

/** The reward in a value. @param where it comes from, in words @throws AgentFault `bad_reward` */
export function givenReward(value: unknown, where: string): GivenReward {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const allowed = `{"reward": a number from -${largestReward} to ${largestReward}, "outcome"?: ${outcomes.filter(isRewarded).join(', ')}}`
  const found = value === undefined ? 'no JSON' : excerptOf(JSON.stringify(value))
  throw new AgentFault('bad_reward', `${where} has ${found}: expected ${allowed}`, { cause: parsed.error })
}

/** The reward in the last line of a file. @throws AgentFault `no_reward`, `bad_reward` */
export async function rewardInFile(file: string): Promise<GivenReward> {
  const line = (await lastPartOf(file)).trimEnd().split('\n').at(-1) ?? ''
  if (line === '')
    throw new AgentFault(
      'no_reward',
      'the agent ended without a reward: write a line to the file that PERDURE_RESULT_FILE names',
    )
  return givenReward(readJson(line), "the last line of the agent's result file")
}

async function lastPartOf(file: string): Promise<string> {
  try {
    await using handle = await open(file)
    const { size } = await handle.stat()
    const length = Math.min(size, tailBytes)
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.toString('utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return ''
    throw error
  }
}
