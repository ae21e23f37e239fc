import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { describe, expect, it } from 'vitest'
import type { EpisodeResult } from '../../contract/messages.ts'
import { episodeId, groupId, runId } from '../../identity/identity.ts'
import type { EnvironmentSession, TurnResult } from './environment.ts'
import type { SampleRequest, SampleResult } from './sampling.ts'
import type { SealRequest } from './trajectory.ts'
import { type BlockRequest, type BlockResult, createTurnActivities } from './turns.ts'

const run = runId('blocks')
const request: BlockRequest = {
  episode: episodeId(groupId(run, 0), 0, 0),
  run,
  taskIndex: 0,
  split: 'train',
  position: 0,
  turn: 3,
  opens: false,
  turnLimit: 20,
  reward: 10,
  draws: Array.from({ length: 4 }, (_, index) => ({ version: index, seed: 100 + index })),
  temperature: 1,
  maxTokens: 8,
  invalidInARow: 0,
  invalidActionLimit: 2,
  blockMs: 60_000,
}

interface Play {
  readonly sample?: (request: SampleRequest) => Promise<SampleResult>
  readonly step?: (turn: number) => Partial<TurnResult> | Promise<Partial<TurnResult>>
  readonly open?: () => Promise<EnvironmentSession>
  readonly seal?: (request: SealRequest) => Promise<void>
  readonly close?: () => Promise<void>
  readonly cancelling?: AbortController
  readonly own?: Partial<BlockRequest>
}

const sealedResult = { episode: request.episode, outcome: 'completed', reward: 1 } as EpisodeResult

/** Plays a block. @returns its result, and what was called */
async function play({ own, sample, step = () => ({}), cancelling = new AbortController(), ...ends }: Play) {
  const called: string[] = []
  const reported: string[] = []
  const { playTurns } = createTurnActivities({
    sampling: {
      sampleAction(asked) {
        called.push(`sample ${asked.turn} v${asked.version} seed ${asked.seed}`)
        const version = Number(asked.version)
        return sample?.(asked) ?? Promise.resolve({ kind: 'sampled', version, tokens: 2, summary: '' })
      },
    },
    environment: {
      async stepEnvironment({ turn }) {
        called.push(`step ${turn}`)
        const answer = { reward: 1, outcome: null, invalid: false, summary: `did ${turn}` }
        return { ...answer, ...(await step(turn)) }
      },
      async openEnvironment() {
        called.push('open')
        return (await ends.open?.()) ?? { turnLimit: 4 }
      },
      async closeEnvironment() {
        called.push('close')
        await ends.close?.()
      },
    },
    trajectories: {
      async sealTrajectory(asked) {
        called.push(`seal ${asked.outcome} ${asked.reward}`)
        await ends.seal?.(asked)
        return sealedResult
      },
    },
    around(name, argument, call) {
      reported.push(name)
      return call(argument)
    },
  })
  const context = {
    cancellationSignal: cancelling.signal,
    log: { warn: () => undefined },
  } as unknown as Context
  const playing: Promise<BlockResult> = asyncLocalStorage.run(context, () =>
    playTurns({ ...request, ...own }),
  )
  return { result: await playing, called, reported }
}

describe('a block of turns', () => {
  it('plays each turn with its own version and seed, and tells of its calls', async () => {
    const { result, called, reported } = await play({})
    expect(called).toEqual(
      [0, 1, 2, 3].flatMap((index) => [
        `sample ${3 + index} v${index} seed ${100 + index}`,
        `step ${3 + index}`,
      ]),
    )
    expect(reported).toEqual([0, 1, 2, 3].flatMap(() => ['sampleAction', 'stepEnvironment']))
    expect(result.turns.map(({ version, summary }) => [version, summary])).toEqual(
      [0, 1, 2, 3].map((index) => [index, `did ${3 + index}`]),
    )
    expect(result.outcome).toBe(null)
  })

  // [TURNS-2]
  it('ends with the episode', async () => {
    const { result } = await play({ step: (turn) => (turn === 4 ? { outcome: 'completed' } : {}) })
    expect(result.turns.map(({ outcome }) => outcome)).toEqual([null, 'completed'])
  })

  it('ends with as many invalid actions in a row as end the episode, those before it counted', async () => {
    const invalid = (turns: readonly number[]) => (turn: number) => ({ invalid: turns.includes(turn) })
    expect((await play({ step: invalid([3]), own: { invalidInARow: 1 } })).result.turns).toHaveLength(1)
    expect((await play({ step: invalid([3]) })).result.turns).toHaveLength(4)
    expect((await play({ step: invalid([3, 5, 6]) })).result.turns).toHaveLength(4)
    expect((await play({ step: invalid([4, 5]) })).result.turns).toHaveLength(3)
  })

  it('says when an action does not fit into the context, after the turns before it', async () => {
    const { result } = await play({
      sample: async ({ turn }) =>
        turn === 5 ? { kind: 'context_full' } : { kind: 'sampled', version: 0, tokens: 1, summary: '' },
    })
    expect(result.outcome).toBe('context_limit')
    expect(result.turns).toHaveLength(2)
  })

  // [TURNS-2]
  it('ends after the turn in which its time is up: at least one is played', async () => {
    expect((await play({ own: { blockMs: 0 } })).result.turns).toHaveLength(1)
  })

  // [TURNS-2]
  it('ends after the turn in which it is cancelled, and tells the turns that were played', async () => {
    const cancelling = new AbortController()
    const { result } = await play({
      cancelling,
      step(turn) {
        if (turn === 4) cancelling.abort()
        return {}
      },
    })
    expect(result.turns).toHaveLength(2)
  })

  // [TURNS-3]
  it('ends before a turn that fails, and the block that begins with it fails as the turn does', async () => {
    const step = async (turn: number): Promise<Partial<TurnResult>> => {
      if (turn === 3 + failing) throw new Error('the machine is gone')
      return {}
    }
    let failing = 2
    expect((await play({ step })).result).toMatchObject({ turns: [{}, {}], outcome: null })
    failing = 0
    await expect(play({ step })).rejects.toThrow('the machine is gone')
  })

  it('opens the session in the first block, which has the task’s limit where the run has none', async () => {
    const first = await play({ own: { opens: true, turnLimit: null, turn: 0 } })
    expect(first.called[0]).toBe('open')
    expect(first.result).toMatchObject({ outcome: 'turn_limit', turnLimit: 4 })
    const own = await play({ own: { opens: true, turnLimit: 5, turn: 0 } })
    expect(own.result).toMatchObject({ outcome: null, turnLimit: 5 })
    expect((await play({})).called).not.toContain('open')
  })

  it('plays nothing of an episode that is sealed or begins at its end', async () => {
    const open = async () => ({ turnLimit: 4, sealedAs: 'completed' as const })
    const sealed = await play({ open, own: { opens: true } })
    expect(sealed.result).toEqual({ turns: [], outcome: 'completed', turnLimit: 20 })
    expect(sealed.called).toEqual(['open'])
    const full = await play({ own: { turnLimit: 3 } })
    expect(full.called).toEqual(['seal turn_limit 10', 'close'])
  })

  it('seals the episode with the rewards of all its turns, then closes its session', async () => {
    const { result, called } = await play({ step: (turn) => (turn === 4 ? { outcome: 'completed' } : {}) })
    expect(called.slice(-2)).toEqual(['seal completed 12', 'close'])
    expect(result).toMatchObject({ outcome: 'completed', sealed: sealedResult })
    expect((await play({})).called).not.toContain('close')
  })

  // [TURNS-4]
  it('leaves sealing to its caller where that fails, and where the episode is cancelled', async () => {
    const ends = (): Partial<TurnResult> => ({ outcome: 'completed' })
    const seal = async () => {
      throw new Error('the disk is full')
    }
    const failed = await play({ step: ends, seal })
    expect(failed.result).toMatchObject({ turns: [{}], outcome: 'completed' })
    expect(failed.result.sealed).toBeUndefined()
    const cancelling = new AbortController()
    const cancelled = await play({
      cancelling,
      step() {
        cancelling.abort()
        return ends()
      },
    })
    expect(cancelled.result).toMatchObject({ turns: [{}], outcome: 'completed' })
    expect(cancelled.called).not.toContain('seal completed 11')
  })

  it('has sealed the episode also where its session cannot be closed', async () => {
    const close = async () => {
      throw new Error('it hangs')
    }
    const { result } = await play({ step: () => ({ outcome: 'completed' }), close })
    expect(result.sealed).toEqual(sealedResult)
  })
})
