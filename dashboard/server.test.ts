import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BranchId, branchId, episodeId, evaluationId, groupId, runId } from '../identity/identity.ts'
import { commandName } from '../machine/processes/typed-command.ts'
import { homeAt } from '../storage/disk/home.ts'
import {
  type Answers,
  branchesRoute,
  comparisonRoute,
  curvesRoute,
  episodesRoute,
  evaluationsRoute,
  groupRoute,
  homeRoute,
  liveRoute,
  type Route,
  runRoute,
  runsRoute,
  trajectoryRoute,
} from './contract/routes.ts'
import {
  addConsumedGroup,
  addEpisode,
  addRun,
  type FilledHome,
  openFilledHome,
} from './filled-home.testing.ts'
import { type Dashboard, type DashboardOptions, serveDashboard } from './server.ts'

const hostile = `<script>alert(1)</script>\u001b[31m\u202e${'x'.repeat(1_000_000)}`

let home: FilledHome
let folder: string
let dashboard: Dashboard

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-page-'))
  mkdirSync(join(folder, 'page'))
  writeFileSync(join(folder, 'page', 'index.html'), '<!doctype html><title>Perdure</title>')
  writeFileSync(join(folder, 'page', 'page.js'), 'void 0')
  writeFileSync(join(folder, 'secret.txt'), 'no page')
  home = await openFilledHome()
  const { store } = home
  const suites = [{ name: 'few', task: 'echo', episodes: 2 }]
  const gates = [{ suite: 'few', drop: 0.1 }]
  for (const name of ['first', 'second']) {
    const config = {
      tasks: [{ task: 'echo', from: './echo', settings: { say: "it's" } }],
      learning: { clipHigh: name === 'first' ? 0.2 : 0.3 },
      evaluation: { suites, gates },
    }
    const half = { value: 0.5, low: 0, high: 1 }
    const run = await addRun(home, name, config)
    // The second run keeps no batch files.
    const advantages = name === 'first' ? ({ advantages: [0.5, -0.75] } as const) : {}
    await addConsumedGroup(home, run, 0, { step: 1, ...advantages })
    await addConsumedGroup(home, run, 1, { step: 2, rewards: [1, 1] })
    const id = evaluationId(run, 'few', 2, 1)
    await store.evaluations.insert({ id, run, suite: 'few', version: 2, seed: 1, created: 8000 })
    for (const sample of [0, 1])
      await addEpisode(home, {
        id: episodeId(id, sample, 0),
        instance: `e${sample}`,
        won: name === 'second' || sample === 0,
        version: 2,
        created: 8000,
      })
    await store.evaluations.complete(id, {
      success: name === 'second' ? 1 : 0.5,
      n: 2,
      planned: 2,
      lost: {},
      episodes: [0, 1].map((sample) => episodeId(id, sample, 0)),
      statistics: { measures: { reward: half, turns: half, tokens: half }, judgedBy: 'reward' },
      ended: 9000,
    })
  }
  await store.experts.insert('second' as never, { suite: 'few', success: 0.75, n: 4 })
  const rolledBack = evaluationId('second' as never, 'few', 9, 1)
  await store.evaluations.insert({
    id: rolledBack,
    run: 'second' as never,
    suite: 'few',
    version: 9,
    seed: 1,
    created: 9100,
  })
  const branch: BranchId = branchId(episodeId(groupId('first' as never, 0), 1, 0), 1, 2)
  await addEpisode(home, { id: episodeId(branch, 0, 0), text: hostile, created: 9500 })
  await addEpisode(home, {
    id: episodeId(groupId('first' as never, 2), 0, 0),
    isSealed: false,
    created: 9600,
  })
  await store.audit.append('first' as never, {
    time: 3200,
    by: 'gate few',
    what: 'pause',
    from: 'training',
    to: 'paused',
    version: 1,
    effectVersion: 1,
    reason: 'few fell',
  })
  dashboard = await serve()
})

afterAll(async () => {
  await dashboard.close()
  await home[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

function serve(options: Partial<DashboardOptions> = {}): Promise<Dashboard> {
  const [page, cache] = [join(folder, 'page'), join(folder, 'cache')]
  return serveDashboard({ home: home.dir, port: 0, page, cache, ...options })
}

async function ask<Kind extends keyof Answers>(route: Route<Kind>): Promise<Answers[Kind]> {
  const response = await fetch(dashboard.url + route)
  expect(response.status, route).toBe(200)
  return (await response.json()) as Answers[Kind]
}

describe('the answers', () => {
  test('the list of runs has state, success, suites and disk of each', async () => {
    const { runs } = await ask(runsRoute())
    expect(runs.map(({ run }) => run).toSorted()).toEqual(['first', 'second'])
    expect(runs.find(({ run }) => run === 'first')).toMatchObject({
      status: 'running',
      phase: 'paused',
      detail: 'few fell',
      step: 2,
      version: 2,
      success: { echo: 0.5 },
      curve: [0.5, 0.5],
      suites: [{ suite: 'few', best: { version: 2, n: 2, success: { value: 0.5 } } }],
    })
  })

  test('a run has its configuration with what is not the default, its orders, and what may be ordered', async () => {
    const run = await ask(runRoute('second'))
    expect(run.configuration.differences).toContainEqual({
      key: 'learning.clipHigh',
      default: 0.2,
      value: 0.3,
    })
    expect(run.configuration.live.find(({ key }) => key === 'learning.clipHigh')).toMatchObject({
      value: 0.3,
      allowed: 'number above 0, at most 100',
    })
    expect((await ask(runRoute('first'))).audit).toMatchObject([{ by: 'gate few', what: 'pause', step: 1 }])
  })

  test('a run says what of it is tried again, and why, while that lasts', async () => {
    const { store } = home
    const failing = { work: 'updatePolicy', reason: 'no GPU', attempt: 2, time: Date.now() }
    await store.failing.put('second' as never, failing)
    const words = 'the update failed in attempt 2 and is tried again: no GPU'
    expect((await ask(runRoute('second'))).failing).toEqual([words])
    await store.failing.remove('second' as never, 'updatePolicy')
    expect((await ask(runRoute('second'))).failing).toBeUndefined()
  })

  // [RUN-CURVES-1]
  test('curves have a value of every column for each update, with intervals over groups', async () => {
    const curves = await ask(curvesRoute('first'))
    expect(curves.step).toEqual([1, 2])
    for (const column of [...Object.values(curves.figures), ...Object.values(curves.tasks.echo ?? {})])
      expect(column).toHaveLength(2)
    const { success, success_low: low, success_high: high } = curves.tasks.echo ?? {}
    expect(success).toEqual([0.5, 0.5])
    expect(low?.[0]).toBeLessThan(0.5)
    expect(high?.[0]).toBeGreaterThan(0.5)
    // Turns: two episodes of two turns each, in the second since the update before.
    expect(curves.figures.turns_per_second[1]).toBe(4)
    expect(curves.tokensSoFar).toEqual([54_321, 108_642])
    expect(curves.turnsSoFar).toEqual([4, 8])
  })

  // [RUN-CURVES-2]
  test('asked again, curves have what came since', async () => {
    const run = 'second' as never
    expect((await ask(curvesRoute('second'))).step).toEqual([1, 2])
    await addConsumedGroup(home, run, 2, { step: 3 })
    expect((await ask(curvesRoute('second', 2))).step).toEqual([3])
    expect((await ask(curvesRoute('second'))).step).toEqual([1, 2, 3])
  })

  test('the bound of staleness is that which held when each update was made', async () => {
    const held = { version: 2, effectVersion: 2, reason: null, by: 'me', time: 3300 }
    const change = { what: 'rollout.maxStaleness', from: 1, to: 3 }
    await home.store.audit.append('second' as never, { ...held, ...change })
    // Ordered at version 2: the update that published it had the bound before.
    expect((await ask(curvesRoute('second'))).stalenessBound).toEqual([1, 1, 3])
  })

  test('evaluations have intervals, and gates when they closed', async () => {
    const { evaluations, gates } = await ask(evaluationsRoute('first'))
    expect(evaluations).toMatchObject([
      {
        suite: 'few',
        version: 2,
        step: 2,
        found: {
          n: 2,
          success: { value: 0.5 },
          measured: { of: 'reward', value: 0.5 },
          means: [{ of: 'reward' }, { of: 'turns' }, { of: 'tokens' }],
        },
      },
    ])
    expect(gates).toMatchObject([{ suite: 'few', action: 'pause', closed: [{ reason: 'few fell' }] }])
  })

  test('evaluations are beside the expert, and that of a version of a roll-back is at the update before it', async () => {
    const { evaluations, experts } = await ask(evaluationsRoute('second'))
    const last = (await ask(curvesRoute('second'))).step.at(-1)
    expect(evaluations.map(({ version, step }) => [version, step])).toEqual([
      [2, 2],
      [9, last],
    ])
    // Wilson's interval of three of four.
    expect(experts).toEqual([
      {
        suite: 'few',
        n: 4,
        success: { value: 0.75, low: expect.closeTo(0.3006, 3), high: expect.closeTo(0.9544, 3) },
      },
    ])
    expect((await ask(evaluationsRoute('first'))).experts).toEqual([])
  })

  test('policies are compared on the instances that both have played, and in their configurations', async () => {
    const { suites, differences } = await ask(
      comparisonRoute([{ run: 'first' }, { run: 'second', version: 2 }]),
    )
    // The suite is judged by reward. The second policy wins one more of two instances, which the first lost at a reward of −0.2.
    expect(suites).toMatchObject([
      {
        suite: 'few',
        findings: [
          { version: 2, success: { value: 0.5 } },
          {
            success: { value: 1 },
            instances: 2,
            paired: { difference: 0.6, better: 1, worse: 0 },
            measure: { words: 'mean reward' },
          },
        ],
      },
    ])
    expect(differences).toEqual([{ key: 'learning.clipHigh', values: [0.2, 0.3] }])
  })

  test('the table of episodes is filtered, and says what it did not understand', async () => {
    const wanted = 'run:first kind:group is:won update:1'
    const { rows, total } = await ask(episodesRoute({ filter: wanted }))
    expect(total).toBe(1)
    expect(rows).toMatchObject([{ episode: 'first/g0/s0/a0', update: 1, reward: 1, versions: [0, 0] }])
    const faulty = await ask(episodesRoute({ filter: 'task:echo outcome:good' }))
    expect(faulty).toMatchObject({ rows: [], total: 0, fault: { begin: 10, end: 22 } })
  })

  test('a group has rewards, advantages and where its samples part', async () => {
    const group = await ask(groupRoute('first/g0'))
    expect(group).toMatchObject({ update: 1, partsAt: 1, status: 'complete', learnt: 'learnt' })
    // Those of the update's record, whatever the rules would make of the rewards.
    expect(group.samples.map(({ advantage }) => advantage)).toEqual([0.5, -0.75])
    expect(group.samples.map(({ actions }) => actions)).toEqual([
      ['say(yes)', 'say(yes)'],
      ['say(yes)', 'say(no)'],
    ])
    expect((await ask(groupRoute('first/g1'))).learnt).toBe('nothing_learnt')
    // In progress: the store has its episodes alone.
    const playing = await ask(groupRoute('first/g2'))
    expect(playing).toMatchObject({ status: 'running', update: null, total: 1, samples: [{ outcome: null }] })
    expect(await ask(groupRoute('first/e-few-v2-1'))).toMatchObject({
      kind: 'evaluation',
      total: 2,
      partsAt: null,
    })
  })

  test('a turn that two versions sampled says which of its tokens are of which', async () => {
    const { store } = home
    const id = episodeId(groupId(runId('second'), 90), 0, 0)
    await store.episodes.insert({ id, task: 'echo', instance: 'i0', created: 9000 })
    const said = { messages: [{ role: 'user', content: 'say' } as const], reward: 0, done: false, info: {} }
    await store.observations.put({ ...said, episode: id, turn: 0 })
    const spans = [
      { version: 1, tokens: 1 },
      { version: 2, tokens: 2 },
    ]
    await store.actions.put({
      ...{
        episode: id,
        turn: 0,
        prompt: Int32Array.of(1),
        tokens: Int32Array.of(7, 8, 9),
        version: 1,
        spans,
      },
      ...{ logprobs: Float32Array.of(-1, -1, -1), finish: 'length', problems: [] },
      message: { role: 'assistant', content: 'yes' },
    })
    const { turns } = await ask(trajectoryRoute(id))
    expect(turns[0]?.action).toMatchObject({ version: 1, spans, sampled: { ids: [7, 8, 9] } })
  })

  test('a trajectory has turns, tokens and what the record of the update has of them', async () => {
    const { turns, ending, learnt, hasTexts, row, play } = await ask(trajectoryRoute('first/g0/s1/a0'))
    expect(play).toBe(`${commandName()} env play ./echo --instance i0 --settings '{"say":"it'\\''s"}'`)
    expect(row).toMatchObject({ outcome: 'turn_limit', update: 1 })
    expect(turns).toHaveLength(2)
    expect(turns[1]?.action).toMatchObject({
      version: 0,
      begin: 5,
      prompt: { ids: [1, 2, 1], texts: [] },
      sampled: { ids: [7, 8], logprobs: [-0.5, -0.5] },
      took: { seconds: 0.25, attempt: 2 },
    })
    expect(turns[1]?.observation.took).toEqual({ seconds: 0.04, attempt: 1 })
    expect(ending?.messages).toEqual([{ role: 'tool', name: 'say', content: 'heard no' }])
    expect(hasTexts).toBe(false)
    expect(learnt).toMatchObject({ update: 1, version: 1, advantage: -0.75 })
    const waiting = await ask(trajectoryRoute('first/g1/s0/a0'))
    expect([waiting.learnt, waiting.notKept]).toEqual([undefined, undefined])
  })

  // [LEARNT-2]
  test('what an update learnt is not kept where it left no record', async () => {
    const group = await ask(groupRoute('second/g0'))
    expect(group.learnt).toBe('not_kept')
    expect(group.samples.map(({ advantage, groupAdvantage }) => [advantage, groupAdvantage])).toEqual([
      [null, null],
      [null, null],
    ])
    const { learnt, notKept } = await ask(trajectoryRoute('second/g0/s0/a0'))
    expect([learnt, notKept]).toEqual([undefined, 1])
  })

  test('an episode in progress is shown as far as it is', async () => {
    const { row, turns } = await ask(trajectoryRoute('first/g2/s0/a0'))
    expect(row.outcome).toBeNull()
    expect(turns.map(({ action }) => action === undefined)).toEqual([false, false, true])
  })

  test('branches of an episode are found by it', async () => {
    const { branches } = await ask(branchesRoute('first/g0/s1/a0'))
    expect(branches).toMatchObject([{ turn: 1, version: 2, samples: [{ kind: 'branch', sample: 0 }] }])
  })

  test('hostile text arrives as it is stored, as JSON that no browser takes for a page', async () => {
    const response = await fetch(dashboard.url + trajectoryRoute('first/g0/s1/a0/b1-v2/s0/a0'))
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    const { turns } = (await response.json()) as Answers['trajectory']
    expect(turns[0]?.observation.messages[1]?.content).toBe(hostile)
  })

  // [SERVER-2] [QUESTIONS-1]
  test.each([
    ['api/runs/none', 404, 'unknown'],
    ['api/runs/%2e%2e', 404, 'unknown'],
    ['api/groups/first%2Fnothing', 404, 'unknown'],
    ['api/episodes/first%2Fg9%2Fs0%2Fa0', 404, 'unknown'],
    ['api/episodes?limit=100000', 400, 'bad_request'],
    ['api/episodes?sort=secret', 400, 'bad_request'],
    ['api/comparison?of=first', 400, 'bad_request'],
    ['api/nothing', 404, 'unknown'],
    ['..%2Fsecret.txt', 404, 'unknown'],
  ])('%s is refused with %i', async (path, status, kind) => {
    const response = await fetch(dashboard.url + path)
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({ error: { kind, message: expect.stringMatching(/./) } })
  })
})

// [SERVER-1]
test('nothing in the home changes by being looked at', async () => {
  const { storeFile } = homeAt(home.dir)
  const digest = () => createHash('sha256').update(readFileSync(storeFile)).digest('hex')
  const before = digest()
  for (const route of [
    homeRoute(),
    runsRoute(),
    runRoute('first'),
    episodesRoute({}),
    groupRoute('first/g0'),
  ])
    await fetch(dashboard.url + route)
  expect(digest()).toBe(before)
})

describe('the guards', () => {
  /** A request with headers that `fetch` does not let through. */
  function status(
    path: string,
    headers: Record<string, string>,
    method = 'GET',
    at = dashboard,
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, at.url), { headers, method }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      sent.on('error', reject)
      sent.end(method === 'POST' ? '{"order":"pause"}' : undefined)
    })
  }

  // [GUARD-1] [GUARD-2]
  test.each([
    ['a foreign host', { host: 'evil.example' }, 403],
    ['a page of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }, 403],
    ['a frame of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 403],
    ['another origin', { origin: 'http://evil.example' }, 403],
    ['an origin without a name', { origin: 'null' }, 403],
    ['a link of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 200],
    ['the page itself', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }, 200],
  ])('%s is answered as it should be', async (_, headers, expected) => {
    expect(await status('/', headers)).toBe(expected)
    expect(await status('/api/runs', headers)).toBe(expected)
  })

  test('orders are refused where the page may not steer, and from forms everywhere', async () => {
    const post = (type: string) => status('/api/runs/first/orders', { 'content-type': type }, 'POST')
    expect(await post('application/json')).toBe(403)
    const steering = await serve({ canSteer: true })
    try {
      expect(await status('/api/runs/first/orders', { 'content-type': 'text/plain' }, 'POST', steering)).toBe(
        403,
      )
      const wrong = await fetch(`${steering.url}api/runs/first/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"order":"explode"}',
      })
      expect(wrong.status).toBe(400)
    } finally {
      await steering.close()
    }
  })

  // [BODY-LIMIT-1]
  test('a body beyond the limit is refused as too large, and an episode that is none is never branched', async () => {
    const steering = await serve({ canSteer: true })
    const post = (path: string, body: string) =>
      fetch(`${steering.url}api/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
    try {
      const large = await post(
        'runs/first/orders',
        JSON.stringify({ order: 'pause', reason: 'x'.repeat(70_000) }),
      )
      expect([large.status, await large.json()]).toMatchObject([413, { error: { kind: 'too_large' } }])
      for (const episode of ['--help', '--home=/tmp', '-V', 'first/g0/s9/a0']) {
        const branch = await post(`episodes/${encodeURIComponent(episode)}/branches`, '{"turn":0}')
        expect([branch.status, await branch.json()]).toMatchObject([404, { error: { kind: 'unknown' } }])
      }
    } finally {
      await steering.close()
    }
  })

  // [GUARD-3] [PAGE-FILES-1]
  test('the page may run its own script alone, and its files are served with a tag', async () => {
    const page = await fetch(dashboard.url)
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(await page.text()).toContain('<title>Perdure</title>')
    const script = await fetch(`${dashboard.url}page.js`)
    expect(script.headers.get('content-type')).toMatch(/^text\/javascript/)
    const tag = script.headers.get('etag') ?? ''
    expect((await fetch(`${dashboard.url}page.js`, { headers: { 'if-none-match': tag } })).status).toBe(304)
  })

  // [GUARD-1]
  test('with a token no one gets in without it, and a browser keeps it in a cookie', async () => {
    const token = 'a-long-enough-token'
    const closed = await serve({ token })
    try {
      const root = new URL('/', closed.url).href
      expect((await fetch(`${root}api/runs`)).status).toBe(403)
      expect((await fetch(root)).status).toBe(403)
      expect((await fetch(`${root}enter/wrong`)).status).toBe(403)
      const bearer = { authorization: `Bearer ${token}` }
      expect((await fetch(`${root}api/runs`, { headers: bearer })).status).toBe(200)
      const entered = await fetch(closed.url, { redirect: 'manual' })
      const cookie = entered.headers.get('set-cookie') ?? ''
      expect([entered.status, entered.headers.get('location')]).toEqual([302, '/'])
      expect(cookie).toMatch(/HttpOnly.*SameSite=Strict/)
      const headers = { cookie: cookie.split(';')[0] ?? '' }
      expect((await fetch(`${root}api/runs`, { headers })).status).toBe(200)
    } finally {
      await closed.close()
    }
  })

  test('another host than loopback asks for a token of its own making', async () => {
    const open = await serve({ host: '0.0.0.0' })
    try {
      expect(open.url).toMatch(/\/enter\/[\w-]{32}$/)
    } finally {
      await open.close()
    }
  })
})

// [LIVE-1] [LIVE-2]
test('a page hears of every run, of what is played, and of what ends while it listens', async () => {
  const response = await fetch(dashboard.url + liveRoute('first'))
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let heard = ''
  async function until(wanted: RegExp): Promise<void> {
    while (!wanted.test(heard)) heard += decoder.decode((await reader.read()).value)
  }
  await until(/event: run\ndata: \{"run":"first"/)
  await until(/event: metrics\ndata: \{"run":"first","step":2,"evaluations":\{"begun":1,"ended":1,"failed":0/)
  await until(/event: flight\ndata: .*first\/g2\/s0\/a0.*"lastAction":"say\(no\)"/)
  await home.store.episodes.seal(episodeId(groupId('first' as never, 2), 0, 0), {
    outcome: 'completed',
    reward: 1,
    ended: Date.now(),
  })
  await until(/event: ended\ndata: .*first\/g2\/s0\/a0/)
  expect(heard).not.toContain('"run":"second"')
  await reader.cancel()
})

test('a group that was cut off with its run is shown by its episodes, as given up', async () => {
  const run = await addRun(home, 'cut-run')
  const group = groupId(run, 0)
  await addEpisode(home, { id: episodeId(group, 0, 0), won: false })
  expect(await ask(groupRoute(group))).toMatchObject({ status: 'running', total: 1 })
  await home.store.runs.setStatus(run, 'stopped', { ended: 5000 })
  expect(await ask(groupRoute(group))).toMatchObject({ status: 'abandoned', total: 1, update: null })
})

// [LIVE-3]
test('a run that has ended is reported again when an evaluation of it begins', async () => {
  const run = await addRun(home, 'ended-run')
  await home.store.runs.setStatus(run, 'done', { ended: 5000 })
  const response = await fetch(dashboard.url + liveRoute('ended-run'))
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let heard = ''
  async function until(wanted: RegExp): Promise<void> {
    while (!wanted.test(heard)) heard += decoder.decode((await reader.read()).value)
  }
  await until(/event: run\ndata: \{"run":"ended-run","status":"done"/)
  const id = evaluationId(run, 'few', 1, 1)
  await home.store.evaluations.insert({ id, run, suite: 'few', version: 1, seed: 1, created: 9000 })
  await until(/event: metrics\ndata: \{"run":"ended-run".*"begun":1/)
  expect(heard.match(/event: run\n/g)).toHaveLength(1)
  await reader.cancel()
})
