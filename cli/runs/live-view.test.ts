/** The live view, as a pure function of a run's progress. */
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RunPhase, RunProgress } from '../../client/session/training-session.ts'
import { type LiveState, plainLines, renderLive, shareWithInterval } from './live-view.ts'

const base: RunProgress = {
  run: 'demo',
  phase: 'training',
  version: 23,
  step: 23,
  updates: 60,
  episodesInFlight: 128,
  groupsInFlight: 16,
  groupsReady: 3,
  staleness: 0.75,
  episodes: 2944,
  tokens: 1_203_442,
  success: { alfworld: 0.5 },
  reward: { alfworld: 0.31 },
  samples: { alfworld: 10 },
  evaluations: [
    { suite: 'held_out', version: 20, success: 0.315, n: 200, planned: 200 },
    { suite: 'held_out', version: 0, success: 0.12, n: 200, planned: 200 },
  ],
  emptyUpdates: 0,
  startedAt: 1_000_000,
}

function stateOf(progress: Partial<RunProgress> = {}, rest: Partial<LiveState> = {}): LiveState {
  return {
    progress: { ...base, ...progress },
    now: 1_000_000 + 432_000,
    uiUrl: 'http://127.0.0.1:8233',
    tokensPerSecond: 5321,
    secondsLeft: 250,
    ...rest,
  }
}

describe('the view', () => {
  test('shows phase, update, success with its interval, evaluations, flight, pace, time left and address', () => {
    const text = renderLive(stateOf(), { columns: 100, colours: false }).join('\n')
    // Wilson, 5 of 10: 0.2366 to 0.7634.
    expect(text).toContain('alfworld  50.0 % (23.7–76.3) of 10 · reward 0.31')
    expect(text).toContain('update 23 of 60 · 4 min 10 s left')
    expect(text).toContain('held_out  v0 12.0 % (8.2–17.2) → v20 31.5 % (25.5–38.2)')
    expect(text).toContain('128 episodes in 16 groups · 3 ready · staleness 0.75')
    expect(text).toContain('2,944 episodes · 1,203,442 tokens · 5,321 tokens/s · 7 min 12 s')
    expect(text).toContain('http://127.0.0.1:8233')
  })

  test('says what is tried again and why, in the view and once as a line', () => {
    const failing = [
      { work: 'updatePolicy', attempt: 2, reason: 'no GPU' },
      { work: 'environment', attempt: 0, reason: 'reset of maze on train/7 has not answered for 5 s' },
    ]
    const state = stateOf({ failing })
    const text = renderLive(state, { columns: 120, colours: false }).join('\n')
    expect(text).toContain('failing     the update failed in attempt 2 and is tried again: no GPU')
    expect(text).toContain('failing     waiting: reset of maze on train/7 has not answered for 5 s')
    const lines = plainLines(stateOf().progress, state)
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/demo: the update failed in attempt 2 and is tried again: no GPU$/)
    expect(plainLines(state.progress, state)).toEqual([])
  })

  test('words from elsewhere are in it on one line and without their control codes, its own styles with theirs', () => {
    const message = 'the module says \u001b[2J\nboo\u009b1m'
    const lines = renderLive(stateOf({ message, pauseReason: message }), { columns: 100, colours: true })
    const text = lines.map((line) => stripVTControlCharacters(line))
    expect(text.filter((line) => line.includes('says ␛[2J boo\ufffd1m'))).toHaveLength(2)
    expect(text.join('')).not.toMatch(/\p{Cc}/u)
  })

  test('an update that had nothing to learn from is a named state, whole in any width, until one has', () => {
    const standstill = { groups: 8, won: 0, lost: 8, unusable: 0.63, cutOff: 0.6, updates: 5 }
    const nothingLearnt = { ...standstill, cause: 'cut_off_actions' } as const
    const text = renderLive(stateOf({ nothingLearnt }), { columns: 60, colours: false }).join(' ')
    const words = '0 of 8 groups with different rewards for 5 updates: nothing is learnt'
    expect(text.replaceAll(/\s+/g, ' ')).toContain(words)
    expect(text).toContain('rollout.maxTokensPerTurn')
    const before = { ...base, step: 22 }
    expect(plainLines(before, stateOf({ nothingLearnt })).join('\n')).toMatch(
      new RegExp(`update 23 of 60 .*${words}[^]*63 % of the actions could not be used`),
    )
    const longer = { nothingLearnt: { ...nothingLearnt, updates: 6 }, step: 24 }
    const lines = plainLines({ ...base, nothingLearnt }, stateOf(longer))
    expect(lines).toHaveLength(1) // what to do was said
    expect(lines[0]).toContain('for 6 updates')
    expect(renderLive(stateOf(), { columns: 60, colours: false }).join(' ')).not.toContain(
      'nothing is learnt',
    )
  })

  test('the warm start shows its parts in place of updates', () => {
    const progress = { phase: 'warm_start' as const, warmStart: { done: 1, total: 4 } }
    expect(renderLive(stateOf(progress), { columns: 80, colours: false })[0]).toContain('part 1 of 4')
  })

  test('many evaluations are shown by the first and the last two', () => {
    const evaluations = [0, 10, 20, 30].map((version) => ({
      ...{ suite: 's', version, success: 0.5 },
      ...{ n: 10, planned: 10 },
    }))
    const text = renderLive(stateOf({ evaluations }), { columns: 120, colours: false }).join('\n')
    expect(text).toMatch(/v0 .* … v20 50\.0 % → v30/)
  })

  test('each task has the interval of its own episodes, and none where their number is unknown', () => {
    const progress = { success: { alfworld: 0.5, db: 0.25 }, reward: {}, samples: { alfworld: 40 } }
    const text = renderLive(stateOf(progress), { columns: 100, colours: false }).join('\n')
    // Wilson, 20 of 40: 0.3520 to 0.6480.
    expect(text).toContain('alfworld  50.0 % (35.2–64.8) of 40 · last update')
    expect(text).toMatch(/db {8}25\.0 %$/m)
  })

  test('the page of the run is named by the command that serves it', () => {
    const page = 'http://127.0.0.1:8450/#/runs/demo'
    const text = renderLive(stateOf({}, { page }), { columns: 100, colours: false }).join('\n')
    expect(text).toContain(`perdure ui  ${page}`)
  })

  test('an address that does not fit beside its label is alone and whole', () => {
    const uiUrl = `http://127.0.0.1:8233/namespaces/default/workflows/${'r'.repeat(25)}`
    expect(renderLive(stateOf({}, { uiUrl }), { columns: 80, colours: false })).toContain(` ${uiUrl}`)
  })

  test('no line is wider than the terminal, coloured or not', () => {
    const phases: RunPhase[] = ['starting', 'warm_start', 'evaluating', 'training', 'paused', 'failed']
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 160 }),
        fc.constantFrom(...phases),
        fc.string({ maxLength: 200 }),
        fc.boolean(),
        (columns, phase, message, colours) => {
          const lines = renderLive(stateOf({ phase, message: message.replaceAll(/\p{C}/gu, '') }), {
            columns,
            colours,
          })
          for (const line of lines) expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(columns)
        },
      ),
    )
  })

  test('colours change nothing but colours', () => {
    const coloured = renderLive(stateOf(), { columns: 80, colours: true })
    const bare = renderLive(stateOf(), { columns: 80, colours: false })
    expect(coloured.map((line) => stripVTControlCharacters(line).trimEnd())).toEqual(bare)
  })

  test('a share without episodes has no interval', () => {
    expect(shareWithInterval(0.5, 0)).toBe('50.0 %')
  })
})

describe('without a terminal', () => {
  test('nothing is written when nothing happened', () => {
    expect(plainLines(base, stateOf({ tokens: base.tokens + 5, episodesInFlight: 3 }))).toEqual([])
  })

  test('an update, an evaluation and a phase are one line each', () => {
    const latest = { suite: 'held_out', version: 24, success: 0.4, n: 200, planned: 200 }
    const evaluations = [...base.evaluations, latest]
    const lines = plainLines(base, stateOf({ step: 24, phase: 'done', evaluations }))
    expect(lines.map((line) => line.replace(/^\d\d:\d\d:\d\d /, ''))).toEqual([
      'demo: update 24 of 60 · alfworld success 50.0 % · staleness 0.75 · 2,944 episodes · 1,203,442 tokens · 5,321 tokens/s · 4 min 10 s left',
      'demo: evaluated held_out at v24: 40.0 % (33.5–46.9) of 200',
      'demo: done',
    ])
  })
  test('a warm start that was found is said in the place of its parts', () => {
    const found = (done: number) => ({ warmStart: { done, total: 4, found: true } })
    const lines = plainLines(stateOf({ warmStart: { done: 0, total: 4 } }).progress, stateOf(found(4)))
    expect(lines.map((line) => line.replace(/^\d\d:\d\d:\d\d /, ''))).toEqual([
      'demo: warm start, found in the cache',
    ])
  })

  test('the first look at a run says where it is, and nothing of what lies before', () => {
    const seen = (progress: Partial<RunProgress>) =>
      plainLines(undefined, stateOf(progress)).map((line) => line.replace(/^\d\d:\d\d:\d\d /, ''))
    const warmStart = { done: 2, total: 4 }
    expect(seen({ warmStart })).toEqual(['demo: training · update 23 of 60'])
    expect(seen({ warmStart, phase: 'done' })).toEqual(['demo: done'])
    expect(seen({ warmStart, phase: 'warm_start', step: 0, evaluations: [] })).toEqual([
      'demo: warm start, part 2 of 4',
    ])
    expect(seen({ phase: 'starting', step: 0, evaluations: [] })).toEqual(['demo: starting'])
  })
})
