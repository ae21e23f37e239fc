import { expect, test } from 'vitest'
import type { AssistantMessage } from '../../messages/message.ts'
import type { Environment } from '../contract/environment.ts'
import { webshop } from './definition.ts'
import { clickCall, searchCall } from './tools.ts'

function calls(...tool_calls: unknown[]): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: tool_calls as never }
}

async function started(settings: Record<string, string> = {}): Promise<Environment> {
  const task = await webshop.open({ settings: { difficulty: 'easy', ...settings } })
  const environment = await task.create()
  await environment.reset('test/0')
  return environment
}

test('an episode begins with what is asked for, in the words of the setting', async () => {
  const brief = await (await started()).reset('test/0')
  expect(brief.messages.map(({ role }) => role)).toEqual(['system', 'user'])
  expect(brief.messages[1]?.content).toMatch(/^Find me /)
  const official = await (await started({ pages: 'official' })).reset('test/0')
  expect(official.messages[1]?.content).toBe(official.info.observation)
  expect(official.info).toEqual(brief.info)
  expect(official.info).toMatchObject({ hasSearchBar: true, clickables: ['search'] })
})

test('only what cannot be played is marked invalid; a click on what is not there is answered by the page', async () => {
  const environment = await started()
  for (const action of [
    calls(),
    calls({ name: 'look' }),
    calls({ name: 'click_action', arguments: {} }),
    calls(null, 3),
  ])
    expect(await environment.step(action)).toMatchObject({ invalid: true, done: false })
  const before = await environment.step(calls(searchCall('mugs')))
  const after = await environment.step(calls(clickCall('no such thing'), null))
  expect(after).not.toHaveProperty('invalid')
  expect(after.info).toEqual(before.info)
  expect(after.messages.map(({ content }) => content.split('\n')[0])).toEqual([
    'Nothing happens.',
    expect.stringMatching(/There is no tool/),
  ])
})

test('results list all that was found, in order, beside the page that is shown', async () => {
  const environment = await started()
  const { info } = await environment.step(calls(searchCall('mugs')))
  expect(info.asins).toEqual(['B1105', 'B1177', 'F557', 'F845', 'G270', 'G774'])
  expect(info.hasSearchBar).toBe(false)
  const shown = (info.asins as string[]).slice(0, 3).map((id) => id.toLowerCase())
  expect(info.clickables).toEqual(['back to search', 'next >', ...shown])
})

test('only buying pays, once, with its parts, and whatever follows changes nothing', async () => {
  const environment = await started({ pages: 'official' })
  const task = await webshop.open({ settings: { difficulty: 'easy' } })
  const actions = (await task.demonstrate?.('test/0'))?.actions ?? []
  const buy = calls(...actions.flatMap(({ tool_calls }) => tool_calls ?? []), searchCall('again'))
  const bought = await environment.step(buy)
  expect(bought).toMatchObject({ reward: 1, done: true, outcome: 'completed' })
  expect(bought.info).toMatchObject({ score: 1, r_type: 1, r_att: 1, r_option: 1, r_price: true })
  expect(bought.messages.at(-1)?.content).toBe('The purchase is done.')
  expect(bought.messages.at(-2)?.content).toBe(bought.info.observation)
  expect(await environment.step(buy)).toMatchObject({ reward: 0, done: true, info: bought.info })
})

test('a megabyte of keywords finds what it finds, and the next session is untouched', async () => {
  const environment = await started()
  for (const keywords of ['mugs '.repeat(200_000), '\u0000'.repeat(1_000_000), '😀'.repeat(250_000)]) {
    const { messages, done } = await environment.step(calls(searchCall(keywords)))
    expect(done).toBe(false)
    expect(messages[0]?.content.length).toBeLessThan(2000)
  }
  const fresh = await (await started()).step(calls(searchCall('mugs')))
  expect(await (await started()).step(calls(searchCall('mugs')))).toEqual(fresh)
})

test('without a reset there is nothing to play', async () => {
  const environment = await started()
  await environment.close()
  await expect(environment.step(calls(searchCall('mugs')))).rejects.toMatchObject({ kind: 'session_lost' })
})
