/**
 * The reward that a verifier has written: `reward.json`, else `reward.txt`.
 *
 * Invariants
 * - [HARBOR-REWARD-1] A reward is a finite number in a file; everything else that a verifier leaves is a fault, never a reward.
 * - [HARBOR-REWARD-2] The number is kept as it is.
 */
import { z } from 'zod'
import { readJson } from '../../../messages/read-json.ts'
import type { Container, EntryOut } from '../../../worlds/containers/sandbox.ts'
import { EnvironmentFault } from '../../contract/environment.ts'

/** Where verifiers write. */
export const verifierFolder = '/logs/verifier'

/** The numbers of a verifier. */
export interface Reward {
  readonly reward: number
  /** All that it wrote, by key. */
  readonly rewards: Readonly<Record<string, number>>
}

/** Bytes of a reward file. */
const sizeLimit = 2 ** 16

/** Reads what a verifier wrote. @param key the reward's where there are several @throws EnvironmentFault `backend` */
export async function rewardIn(container: Container, key: string): Promise<Reward> {
  const json = await textOf(container, 'reward.json')
  if (json !== undefined) return rewardOfJson(json, key)
  const text = await textOf(container, 'reward.txt')
  if (text === undefined)
    throw noReward(`the verifier wrote neither ${verifierFolder}/reward.txt nor reward.json`)
  return rewardOfText(text)
}

async function textOf(container: Container, name: string): Promise<string | undefined> {
  const found = await container.copyOut(`${verifierFolder}/${name}`, { bytes: sizeLimit })
  if (found === undefined) return undefined
  const [entry]: readonly (EntryOut | undefined)[] = found.entries
  if (entry?.kind !== 'file' || entry.content === undefined)
    throw noReward(`${verifierFolder}/${name} is no file of at most ${sizeLimit} bytes`)
  return Buffer.from(entry.content).toString()
}

/** @throws EnvironmentFault `backend` */
export function rewardOfText(text: string): Reward {
  const bare = text.trim()
  const reward = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(bare) ? Number(bare) : Number.NaN
  if (!Number.isFinite(reward)) throw noReward(`reward.txt says ${quotedText(text)}: expected a number`)
  return { reward, rewards: { reward } }
}

const finite = z.number()
const rewardsSchema = z.union([finite.transform((reward) => ({ reward })), z.record(z.string(), finite)])

/** @throws EnvironmentFault `backend` */
export function rewardOfJson(text: string, key: string): Reward {
  const read = rewardsSchema.safeParse(readJson(text))
  if (!read.success)
    throw noReward(`reward.json says ${quotedText(text)}: expected a number, or numbers by key`)
  const rewards: Readonly<Record<string, number>> = read.data
  const values = Object.values(rewards)
  const reward = rewards[key] ?? (values.length === 1 ? values[0] : undefined)
  if (reward !== undefined) return { reward, rewards }
  throw noReward(
    `reward.json has no "${key}": \`settings.reward\` names one of ${Object.keys(rewards).join(', ')}`,
  )
}

/** The fault of a verifier that does not say what it pays. */
export function noReward(reason: string): EnvironmentFault {
  return new EnvironmentFault('backend', reason)
}

function quotedText(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
