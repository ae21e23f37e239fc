/**
 * Steps per second of the shop, searches included in the mix of the recorded episodes, and how fast it opens.
 *
 * Invariants
 * - A step includes its page's text and its list of clickables, as an agent's step does.
 * - Seconds are those of the processor: what else runs on the machine does not count.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import type { Task } from '../../envs/contract/environment.ts'
import { webshop } from '../../envs/webshop/definition.ts'
import { clickCall, searchCall } from '../../envs/webshop/tools.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import { sharedData } from '../../test/support/shared-data.ts'
import type { Figure } from '../figure.ts'

/** Long enough that the clock and the compiler no longer matter. */
const measuredSeconds = 2
const builtInGoals = 50

interface Play {
  readonly instance: string
  readonly actions: readonly AssistantMessage[]
}

/** The official small shop where its data is there, else the built-in one. */
export async function bench(): Promise<Figure[]> {
  const dir = sharedData('webshop')
  const official = existsSync(dir)
  if (!official) console.error(`no official shop in ${dir}: the built-in one is measured`)
  const options = official ? { dataDir: dir } : { settings: { difficulty: 'hard' } }
  const opening = processorSeconds()
  const task = await webshop.open(options)
  const openSeconds = opening()
  try {
    const plays = official ? await recordedPlays(dir) : await expertPlays(task)
    // One pass that is not counted: words are analysed, titles tagged and functions compiled once.
    await playAll(task, plays)
    const playing = processorSeconds()
    let steps = 0
    while (playing() < measuredSeconds) steps += await playAll(task, plays)
    return [
      { name: 'webshop steps/s', value: steps / playing(), unit: 'steps/s' },
      { name: 'webshop opening s', value: openSeconds, unit: 's' },
    ]
  } finally {
    await task.close()
  }
}

function processorSeconds(): () => number {
  const start = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1e6
  }
}

/** @returns steps played */
async function playAll(task: Task, plays: readonly Play[]): Promise<number> {
  const session = await task.create()
  let steps = 0
  for (const { instance, actions } of plays) {
    await session.reset(instance)
    for (const action of actions) {
      steps++
      if ((await session.step(action)).done) break
    }
  }
  await session.close()
  return steps
}

const episode = z.object({ idx: z.number(), steps: z.array(z.object({ action: z.string() })) })

async function recordedPlays(dir: string): Promise<Play[]> {
  const lines = await readFile(path.join(dir, 'sample_golden_episodes_20.jsonl'), 'utf8')
  return lines
    .trim()
    .split('\n')
    .map((line) => {
      const { idx, steps } = episode.parse(JSON.parse(line))
      return { instance: `synthetic/${idx}`, actions: steps.flatMap(({ action }) => actionOf(action)) }
    })
}

/** The tool call of a recorded action such as `search[red shoes]`; none for the reset. */
function actionOf(recorded: string): AssistantMessage[] {
  const [, name, text = ''] = /^(search|click)\[(.*)\]$/s.exec(recorded) ?? []
  if (name === undefined) return []
  const call = name === 'search' ? searchCall(text) : clickCall(text)
  return [{ role: 'assistant', content: '', tool_calls: [call] }]
}

async function expertPlays(task: Task): Promise<Play[]> {
  const plays: Play[] = []
  for (let index = 0; index < builtInGoals; index++) {
    const demonstration = await task.demonstrate?.(task.instanceAt('test', index))
    if (demonstration !== undefined) plays.push(demonstration)
  }
  return plays
}
