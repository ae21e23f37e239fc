/** A home of 100,000 episodes: what its page costs, and how long it waits. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { quantile } from '../bench/figure.ts'
import { type FilledHome, openFilledHome } from './filled-home.testing.ts'
import {
  costsOf,
  fillWithMany,
  type ShowingCosts,
  type ShowingProcess,
  startShowing,
} from './many-episodes.testing.ts'

let home: FilledHome
let showing: ShowingProcess | undefined
let costs: ShowingCosts

beforeAll(async () => {
  home = await openFilledHome()
  await fillWithMany(home)
  showing = await startShowing(home.dir)
  costs = await costsOf(showing)
  const { filters, trajectories, megabytes, indexingSeconds, firstView } = costs
  const p95 = (all: ShowingCosts['filters']) => quantile(times(all), 0.95)
  console.log(
    `first view ${firstView.cpuMs} ms, filters p95 ${p95(filters)} ms, trajectories p95 ${p95(trajectories)} ms, ${megabytes} MB, words ${indexingSeconds} s`,
  )
}, 1_500_000)

afterAll(async () => {
  await showing?.[Symbol.asyncDispose]()
  await home[Symbol.asyncDispose]()
})

function times(all: ShowingCosts['filters']): readonly number[] {
  return all.map(({ cpuMs }) => cpuMs)
}

// Processor time of the server: it does not depend on what else the machine does.
test('the first view comes within a second, while the index is being made', () => {
  expect(costs.firstView.cpuMs).toBeLessThan(1000)
})

test('any filter, sort and search takes 300 ms at most, any trajectory 200 ms', () => {
  const slow = costs.filters
    .filter(({ cpuMs }) => cpuMs > 300)
    .map(({ route, cpuMs }) => `${route}: ${cpuMs} ms`)
  expect(quantile(times(costs.filters), 0.95), slow.join('; ')).toBeLessThan(300)
  expect(quantile(times(costs.trajectories), 0.95)).toBeLessThan(200)
})

test('its server takes 300 MB at most', () => {
  expect(costs.megabytes).toBeLessThan(300)
})
