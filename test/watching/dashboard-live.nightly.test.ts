/** The page in a browser beside a run that trains and after it has ended: every view, every link, orders and a branch. */
import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addressOf } from '../../dashboard/contract/addresses.ts'
import { type Answers, episodesRoute } from '../../dashboard/contract/routes.ts'
import { browserMissing, startBrowser } from '../host/browser.ts'
import { survivor, trainSurvivor, untilUpdate } from '../host/survivor.ts'
import {
  eventually,
  type PerdureProcess,
  removeHome,
  startPerdure,
  temporaryHome,
} from '../support/perdure-process.ts'

const absent = browserMissing()
const home = temporaryHome()
/** More than the test waits for: it stops the run itself. */
const updates = 400

let training: PerdureProcess
let ui: PerdureProcess
let browser: Browser
let url: string

beforeAll(async () => {
  if (absent !== undefined) return
  training = trainSurvivor(home, [`training.updates=${updates}`])
  await untilUpdate(home, 2)
  ui = startPerdure(home, 'ui', '--steer', '--json', '--port', '0')
  url = await eventually('the address of the page', () => {
    const [first = ''] = ui.output().split('\n')
    return first.startsWith('{') && ui.output().includes('\n')
      ? (JSON.parse(first) as { url: string }).url
      : undefined
  })
  browser = await startBrowser()
}, 300_000)

afterAll(async () => {
  if (absent !== undefined) return
  await browser?.close()
  await ui?.killGroup()
  await training?.killGroup()
  removeHome(home)
})

/** Opens an address and demands that nothing went wrong in the page meanwhile. */
async function at<Found>(address: string, look: (page: Page) => Promise<Found>): Promise<Found> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 } })
  try {
    const page = await context.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    await page.goto(url + address)
    const found = await look(page)
    expect(faults, address).toEqual([])
    return found
  } finally {
    await context.close()
  }
}

/** An address without what differs between works of one kind: links to the same kind of thing lead to the same code. */
function kindOf(address: string): string {
  return address.replaceAll(/\d+/g, 'N').replaceAll(/%3A|%2F/g, '/')
}

/** True once the page asked for nothing while it was drawn again, and waits for no answer: all that its address shows is there. */
function restOf(page: Page): () => Promise<true | undefined> {
  const awaited = new Set<Request>()
  let asked = 0
  page.on('request', (request) => {
    if (request.resourceType() !== 'fetch') return
    asked += 1
    awaited.add(request)
  })
  page.on('requestfinished', (request) => awaited.delete(request))
  page.on('requestfailed', (request) => awaited.delete(request))
  return async () => {
    const before = asked
    // A component that is drawn sends its requests after the frame in which it is.
    await page.evaluate(`new Promise((drawn) =>
      requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn)))
    )`)
    return asked === before && awaited.size === 0 ? true : undefined
  }
}

/** Addresses that one of each kind of link leads to, and what the page says there. */
async function followed(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  const kinds = new Set<string>()
  const waiting = ['#/']
  await at('#/', async (page) => {
    const rest = restOf(page)
    for (let address = waiting.shift(); address !== undefined; address = waiting.shift()) {
      await page.goto(url + address)
      await eventually(`all that ${address} shows`, rest)
      // A page that says why it shows nothing is named with its words, not waited for.
      await page.locator('main h1, main [role=alert]').first().waitFor()
      found.set(address, (await page.locator('main').textContent()) ?? '')
      expect(await page.getByRole('alert').allInnerTexts(), address).toEqual([])
      const links = await page
        .locator('a[href^="#"]')
        .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
      for (const link of links)
        if (!kinds.has(kindOf(link))) {
          kinds.add(kindOf(link))
          waiting.push(link)
        }
    }
  })
  return found
}

const runPage = addressOf({ view: 'run', run: survivor })

async function progressOf(page: Page): Promise<number> {
  const text = await page
    .getByText(new RegExp(`of ${updates} updates`))
    .first()
    .textContent()
  return Number.parseInt(text ?? '', 10)
}

/** As if the tab of the page came to the front, or another did. */
async function bring(page: Page, isSeen: boolean): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${!isSeen} })
    document.dispatchEvent(new Event('visibilitychange'))
  `)
}

/** Each canvas counts how often it is drawn, which begins with an empty one. */
const countDrawings = `{
  const { clearRect } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.clearRect = function (...of) {
    this.canvas.dataset.drawings = Number(this.canvas.dataset.drawings ?? 0) + 1
    return clearRect.apply(this, of)
  }
}`

describe.skipIf(absent !== undefined)(`beside a run${absent === undefined ? '' : ` (${absent})`}`, () => {
  it('every link leads to a page that says something, while it trains', async () => {
    const pages = await followed()
    expect(pages.size).toBeGreaterThan(10)
    for (const text of pages.values()) expect(text.length).toBeGreaterThan(20)
    const kinds = [...pages.keys()].map((address) => address.split(/[/?]/)[1])
    expect(kinds).toEqual(expect.arrayContaining(['runs', 'episodes', 'groups']))
  }, 240_000)

  it('updates come by themselves, and episodes in flight are shown', async () => {
    await at(runPage, async (page) => {
      const before = await progressOf(page)
      await eventually('another update on the page', async () =>
        (await progressOf(page)) > before ? true : undefined,
      )
    })
    await at(`${runPage}?tab=now`, async (page) => {
      await page.locator(`main a[href*="${survivor}/g"]`).first().waitFor()
    })
  }, 240_000)

  it('a page that no one sees asks for nothing until it is seen again [LIVE-PAGE-1]', async () => {
    await at(runPage, async (page) => {
      const asked: string[] = []
      await bring(page, false)
      const shown = await progressOf(page)
      // Data that had been announced before is asked for once more.
      await untilUpdate(home, shown + 2)
      page.on('request', (request) => asked.push(request.url()))
      await untilUpdate(home, shown + 5)
      expect(asked).toEqual([])

      await bring(page, true)
      await eventually('the updates made meanwhile', async () =>
        (await progressOf(page)) >= shown + 5 ? true : undefined,
      )
      expect(asked.length).toBeGreaterThan(0)
    })
  }, 240_000)

  it('a chart is drawn again while it is seen, or when it is seen later [PLOT-1]', async () => {
    await at(runPage, async (page) => {
      await page.locator('.drawing canvas').last().waitFor()
      await page.evaluate(countDrawings)
      const drawings = (which: 'first' | 'last') =>
        page.evaluate<number>(`Number(
          [...document.querySelectorAll('.drawing canvas')].at(${which === 'first' ? 0 : -1}).dataset.drawings ?? 0
        )`)
      await page.locator('.drawing').first().scrollIntoViewIfNeeded()
      await eventually('the chart that is seen is drawn again', async () =>
        (await drawings('first')) > 0 ? true : undefined,
      )
      const shown = await progressOf(page)
      await eventually('two more updates on the page', async () =>
        (await progressOf(page)) >= shown + 2 ? true : undefined,
      )
      expect(await drawings('last')).toBe(0)

      await page.locator('.drawing').last().scrollIntoViewIfNeeded()
      await eventually('the last chart is drawn again', async () =>
        (await drawings('last')) > 0 ? true : undefined,
      )
    })
  }, 240_000)

  it('an order is taken, and one that cannot be followed is refused in words', async () => {
    await at(`${runPage}?tab=orders`, async (page) => {
      const reply = page.getByRole('status')
      const rate = page.getByLabel('New value of learning.learningRate')
      await rate.fill('-1')
      await page.getByRole('button', { name: 'Change 1' }).click()
      await reply.waitFor()
      expect(await reply.getAttribute('class')).toContain('lost')
      const refusal = (await reply.textContent()) ?? ''
      expect(refusal).toContain('learning.learningRate')
      await page.getByRole('button', { name: 'Keep a checkpoint' }).click()
      await eventually('the order is taken', async () =>
        (await reply.textContent()) !== refusal && !(await reply.getAttribute('class'))?.includes('lost')
          ? true
          : undefined,
      )
      await page.getByRole('rowheader', { name: 'checkpoint' }).first().waitFor()
    })
  }, 120_000)

  it('an episode is branched from its page, and the branch is beside it', async () => {
    const filter = `run:${survivor} outcome:completed turns>=2 kind:group`
    const { rows } = (await (
      await fetch(url + episodesRoute({ filter, limit: 1 }))
    ).json()) as Answers['episodes']
    const episode = rows[0]?.episode ?? ''
    await at(addressOf({ view: 'episode', episode, turn: 1 }), async (page) => {
      await page.getByLabel('Samples').fill('2')
      await page.getByRole('button', { name: 'Play on from turn 1' }).click()
      const branch = page.getByRole('link', { name: /^From turn 1 by v\d+/ })
      await branch.waitFor({ timeout: 120_000 })
      await branch.click()
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForURL(({ href }) => href.includes('#/groups/'))
    })
  }, 240_000)

  it('it is stopped from its page, and every link still leads somewhere after it has ended', async () => {
    await at(`${runPage}?tab=orders`, async (page) => {
      await page.getByRole('button', { name: 'Stop after the update' }).click()
      await page.getByText('stopped').first().waitFor({ timeout: 120_000 })
    })
    await training.ended
    const pages = await followed()
    expect(pages.size).toBeGreaterThan(10)
    expect(pages.get(runPage) ?? '').toContain('stopped')
  }, 300_000)
})
