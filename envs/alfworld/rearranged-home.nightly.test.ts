import { existsSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { sharedData } from '../../test/support/shared-data.ts'
import type { InstanceId, Task } from '../contract/environment.ts'
import { EnvironmentFault } from '../contract/environment.ts'
import { alfworld } from './definition.ts'
import { namesIn, officialDialect } from './dialect.ts'

// Whole games are played: on a busy machine that takes longer than the usual limit.
vi.setConfig({ testTimeout: 60_000 })

const data = sharedData('alfworld')
const missing = existsSync(data) ? false : `no official games in ${data}`

const open = (rearranged: number) => alfworld.open({ dataDir: data, settings: { rearranged } })

async function firstText(task: Task, instance: InstanceId): Promise<string> {
  const environment = await task.create()
  const { messages } = await environment.reset(instance)
  await environment.close()
  return String(messages.at(-1)?.content)
}

describe.skipIf(missing)(`rearranged official games${missing ? ` (skipped: ${missing})` : ''}`, () => {
  test('the split is there where a share of it is rearranged, without an end, and the others stay as they are', async () => {
    const [plain, task] = [await open(0), await open(1)]
    expect(task.splits).toEqual([...plain.splits, { name: 'rearranged', size: Number.POSITIVE_INFINITY }])
    expect(task.instanceAt('train', 5)).toBe(plain.instanceAt('train', 5))
    expect(() => plain.instanceAt('rearranged', 0)).toThrow(EnvironmentFault)
    const size = plain.splits.find(({ name }) => name === 'train')?.size ?? 0
    const gamesOf = (round: number) =>
      Array.from({ length: size }, (_, at) => task.instanceAt('rearranged', round * size + at))
    expect(new Set(gamesOf(2)).size).toBe(size)
    expect(new Set([...gamesOf(0), ...gamesOf(1)]).size).toBe(2 * size)
  })

  test('[REARRANGED-1] [ENDLESS-1] an id gives the same home each time, another round another one, the errand stays', async () => {
    const [one, other] = [await open(1), await open(1)]
    const size = one.splits.find(({ name }) => name === 'train')?.size ?? 0
    let different = 0
    for (let game = 0; game < 30; game++) {
      const [first, second] = [game, game + 7 * size].map((at) => one.instanceAt('rearranged', at))
      if (first === undefined || second === undefined) throw new Error('an endless split has instances')
      const text = await firstText(one, first)
      expect(await firstText(other, first)).toBe(text)
      const again = await firstText(one, second)
      if (again !== text) different++
      expect(officialDialect.readTask(again)).toEqual(officialDialect.readTask(text))
    }
    expect(different).toBeGreaterThan(20)
  })

  test('[REARRANGED-2] the expert wins at least 97 of 100, about as fast as in the homes of the folder', async () => {
    const task = await open(1)
    const turns = { train: [] as number[], rearranged: [] as number[] }
    for (const split of ['train', 'rearranged'] as const)
      for (let index = 0; index < 100; index++) {
        const won = await task.demonstrate?.(task.instanceAt(split, index * 31))
        if (won !== undefined) turns[split].push(won.actions.length)
      }
    const mean = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0) / counts.length
    expect(turns.rearranged.length).toBeGreaterThanOrEqual(97)
    expect(Math.abs(mean(turns.rearranged) - mean(turns.train))).toBeLessThan(2)
  })

  test('[REARRANGED-3] places of a kind are numbered from 1 without gaps, the highest first, and some are left out', async () => {
    const task = await open(1)
    let fewer = 0
    for (let game = 0; game < 60; game++) {
      const instance = task.instanceAt('rearranged', game)
      const places = officialDialect.readPlaces(await firstText(task, instance))
      const source = instance.replace('rearranged', 'train').replace(/\/\d+$/, '')
      if (places.length < officialDialect.readPlaces(await firstText(task, source)).length) fewer++
      const numbers = new Map<string, number[]>()
      for (const name of places) {
        const [, kind = '', number] = /^(.+) (\d+)$/.exec(name) ?? []
        numbers.set(kind, [...(numbers.get(kind) ?? []), Number(number)])
      }
      for (const own of numbers.values()) expect(own).toEqual(own.map((_, at) => own.length - at))
    }
    expect(fewer).toBeGreaterThan(40)
  })

  test('a share of the games is as in the folder', async () => {
    const task = await open(0.5)
    let same = 0
    for (let game = 0; game < 40; game++) {
      const instance = task.instanceAt('rearranged', game)
      const source = instance.replace('rearranged', 'train').replace(/\/\d+$/, '')
      if ((await firstText(task, instance)) === (await firstText(task, source))) same++
    }
    expect(same).toBeGreaterThan(10)
    expect(same).toBeLessThan(35)
  })

  test('an id of no game is refused', async () => {
    const environment = await (await open(1)).create()
    for (const id of ['rearranged/none/trial/0', 'rearranged/3', 'rearranged/'])
      await expect(environment.reset(id)).rejects.toThrow(/has no game/)
  })

  test('things of a kind are found at other places, so that a number says nothing about where it is', async () => {
    const task = await open(1)
    const environment = await task.create()
    const found = new Set<string>()
    const size = task.splits.find(({ name }) => name === 'train')?.size ?? 0
    for (let round = 0; round < 12; round++) {
      const instance = task.instanceAt('rearranged', 100 + round * size)
      const { messages } = await environment.reset(instance)
      const place = officialDialect
        .readPlaces(String(messages.at(-1)?.content))
        .find((name) => /countertop|desk|diningtable|sofa|sidetable/.test(name))
      const call = { name: 'take_action', arguments: { action: `go to ${place}` } }
      const step = await environment.step({ role: 'assistant', content: '', tool_calls: [call] })
      found.add(namesIn(String(step.messages[0]?.content)).slice(1).join())
    }
    expect(found.size).toBeGreaterThan(8)
  })
})
