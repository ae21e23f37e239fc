/** The page of an episode that an agent's own program played: its conversations as a tree, how each turn was asked for, what it wrote. */
import { expect, test } from 'vitest'
import { episodeId, groupId } from '../identity/identity.ts'
import { builtPage } from '../scripts/build-page.ts'
import { outputKey } from '../storage/trajectories/observations.ts'
import { browserMissing, startBrowser } from '../test/host/browser.ts'
import { addressOf } from './contract/addresses.ts'
import { addRun, openFilledHome } from './filled-home.testing.ts'
import { serveDashboard } from './server.ts'

const chat = '/v1/chat/completions'
const turns = [
  { branch: 0, follows: -1, form: chat, read: 'Find the lamp.', said: 'I look around.' },
  { branch: 0, follows: 0, form: chat, read: 'There is a desk.', said: 'I take the lamp.' },
  { branch: 1, follows: 0, form: chat, read: 'There is a shelf.', said: 'I look at the shelf.' },
  { branch: 2, follows: -1, form: '/v1/messages', read: 'Sum up.', said: 'A lamp, a desk, a shelf.' },
  { branch: 0, follows: 1, form: '/v1/responses', read: 'And now?', said: 'I am done.' },
]

test.skipIf(browserMissing() !== undefined)(
  'an episode of branches is a tree, with the form of each request and the output of the program',
  async () => {
    await using opened = new AsyncDisposableStack()
    const home = opened.use(await openFilledHome())
    const run = await addRun(home, 'first', {
      tasks: [{ task: 'talk', from: './talk' }],
      evaluation: { suites: [] },
    })
    const episode = episodeId(groupId(run, 0), 0, 0)
    const { store } = home
    await store.episodes.insert({ id: episode, task: 'talk', instance: 'train/0', created: 1000 })
    for (const [turn, { read, said, ...asked }] of turns.entries()) {
      const messages = [{ role: 'user' as const, content: read }]
      await store.observations.put({ episode, turn, messages, reward: 0, done: false, info: {} })
      await store.actions.put({
        ...{ episode, turn, prompt: Int32Array.of(1, 2, turn), tokens: Int32Array.of(7, 8), version: 0 },
        ...{ logprobs: Float32Array.of(-0.5, -0.25), finish: 'stop', problems: [] },
        message: { role: 'assistant', content: said },
        asked: { ...asked, request: `${turn}`, answer: '{}' },
      })
    }
    const end = {
      episode,
      turn: turns.length,
      messages: [],
      reward: 1,
      done: true,
      outcome: 'completed' as const,
    }
    await store.observations.put({ ...end, info: { [outputKey]: 'found the lamp in 5 turns' } })
    await store.episodes.seal(episode, { outcome: 'completed', reward: 1, ended: 2000 })
    const served = { home: home.dir, port: 0, page: await builtPage(), cache: `${home.dir}/cache` }
    const dashboard = opened.adopt(await serveDashboard(served), (each) => each.close())
    const browser = opened.adopt(await startBrowser(), (each) => each.close())
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    await page.goto(dashboard.url + addressOf({ view: 'episode', episode }))
    const outline = page.getByRole('navigation', { name: 'Turns' })
    await outline.getByText('branch 1 after turn 0').waitFor()
    const numbers = await outline.locator('.number').allTextContents()
    expect(numbers).toEqual(['0', '2', '1', '4', '3'])
    const left = async (at: number) => (await outline.locator('li').nth(at).boundingBox())?.x ?? 0
    expect(await left(1)).toBeGreaterThan(await left(0))
    expect(await left(2)).toBe(await left(0))
    await page.getByRole('region', { name: 'Turn 3' }).getByText('/v1/messages').waitFor()
    await page.getByRole('region', { name: 'The end' }).getByText('found the lamp in 5 turns').waitFor()
    await page.getByRole('region', { name: 'Turn 2' }).getByRole('link', { name: 'after turn 0' }).click()
    await page.waitForURL(({ href }) => href.includes('turn=0'))
    expect(faults).toEqual([])
  },
)
