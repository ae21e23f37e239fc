/** The page opens in a browser and shows the runs of its home; `page.nightly.test.ts` looks at every view. */
import { expect, test } from 'vitest'
import { builtPage } from '../scripts/build-page.ts'
import { browserMissing, startBrowser } from '../test/host/browser.ts'
import { addressOf } from './contract/addresses.ts'
import { addConsumedGroup, addRun, openFilledHome } from './filled-home.testing.ts'
import { serveDashboard } from './server.ts'

test.skipIf(browserMissing() !== undefined)(
  'the page leads from the list of runs to a run and its episodes, and nothing in it fails',
  async () => {
    await using opened = new AsyncDisposableStack()
    const home = opened.use(await openFilledHome())
    const run = await addRun(home, 'first', {
      tasks: [{ task: 'echo', from: './echo' }],
      evaluation: { suites: [] },
    })
    await addConsumedGroup(home, run, 0, { step: 1, advantages: [0.5, -0.5] })
    const served = { home: home.dir, port: 0, page: await builtPage(), cache: `${home.dir}/cache` }
    const dashboard = opened.adopt(await serveDashboard(served), (each) => each.close())
    const browser = opened.adopt(await startBrowser(), (each) => each.close())
    const page = await browser.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    await page.goto(dashboard.url + addressOf({ view: 'runs' }))
    await page.getByRole('link', { name: 'first' }).first().click()
    await page.getByRole('heading', { name: 'Success', exact: true }).waitFor()
    await page.goto(dashboard.url + addressOf({ view: 'episode', episode: 'first/g0/s0/a0' }))
    await page.getByRole('region', { name: 'Turn 0' }).waitFor()
    expect(faults).toEqual([])
  },
)
