import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { alfworld } from '../envs/alfworld/definition.ts'
import { toolName } from '../envs/alfworld/game-session.ts'
import { Draw } from '../envs/draw.ts'
import type { Task } from '../envs/environment.ts'
import type { AssistantMessage, Message } from '../messages/message.ts'
import { Chat } from '../policy/chat/chat.ts'
import { compactAddedTokens } from '../policy/chat/compact-template.ts'
import { trainTokenizer } from '../policy/tokenizer/byte-pair-training.ts'
import { Tokenizer } from '../policy/tokenizer/tokenizer.ts'
import type { SealedEpisode } from '../storage/episode.ts'
import type { SampledTurn, Trajectory } from '../storage/trajectory.ts'
import type { EpisodeExample } from './episode-example.ts'
import { examplesOf } from './hindsight.ts'

// Whole games are played: on a busy machine that takes longer than the usual limit.
vi.setConfig({ testTimeout: 60_000 })

const games = await alfworld.open({ settings: { difficulty: 'easy', unseenGoals: 0.2 } })
const { tools } = await games.create()
const chat = new Chat(
  'compact',
  Tokenizer.parse(trainTokenizer([], { vocabularySize: 320, addedTokens: compactAddedTokens(tools) })),
)

const actionOf = (command: string): AssistantMessage => {
  return { role: 'assistant', content: '', tool_calls: [{ name: toolName, arguments: { action: command } }] }
}

/** An episode of these commands, as a policy would have sampled them. */
async function episodeOf(
  instance: string,
  commands: readonly string[],
  task: Task = games,
): Promise<Trajectory> {
  const environment = await task.create()
  let { messages, state } = await environment.reset(instance)
  const said: Message[] = []
  const tokens: number[] = []
  const turns: SampledTurn[] = []
  for (const [turn, command] of commands.entries()) {
    const action = actionOf(command)
    tokens.push(...chat.encodeTurn(tokens, messages, turn === 0 ? environment.tools : undefined))
    const begin = tokens.length
    tokens.push(...chat.encodeAssistant(action))
    turns.push({ version: 0, begin, end: tokens.length, paid: 0, ...(state === undefined ? {} : { state }) })
    said.push(...messages, action)
    const step = await environment.step(action)
    messages = step.messages
    state = step.state
  }
  await environment.close()
  const episode = { task: 'alfworld', instance } as SealedEpisode
  return { episode, tokens: Int32Array.from(tokens), turns, messages: said } as unknown as Trajectory
}

const hindsight = { taskOf: () => Promise.resolve(games), chat, most: 8 }

/** The commands of an example that are imitated. */
function commandsOf(example: EpisodeExample | undefined): unknown[] {
  const { tokens = new Int32Array(0), imitated = new Uint8Array(0) } = example ?? {}
  const actions: number[][] = []
  for (const [place, token] of tokens.entries()) {
    if (imitated[place] !== 1) continue
    if (imitated[place - 1] !== 1) actions.push([])
    actions.at(-1)?.push(token)
  }
  return actions.map((action) => chat.parseAction(action).message.tool_calls?.[0]?.arguments.action)
}

const forkInCupboard = [
  'go to drawer 1',
  'open drawer 1',
  'open drawer 1',
  'take fork 1 from drawer 1',
  'go to cupboard 1',
  'open cupboard 1',
  'put fork 1 at cupboard 1',
  'go to drawer 1',
]

test('[HINDSIGHT-1] [HINDSIGHT-2] an episode that put a fork away where a coin was asked for is an example of the fork, without what did nothing', async () => {
  const lost = await episodeOf('train/6', forkInCupboard)
  const [example, ...others] = await examplesOf([lost], hindsight)
  expect(others).toEqual([])
  const asked = await episodeOf('train/6/for/place-fork-cupboard', forkInCupboard.slice(0, 7))
  expect(example?.tokens).toEqual(asked.tokens)
  expect(commandsOf(example)).toEqual(forkInCupboard.filter((_, turn) => turn !== 2 && turn < 7))
})

test('[HINDSIGHT-3] examples come in the order of the episodes, as many as there may be, the same each time', async () => {
  const fork = await episodeOf('train/6', forkInCupboard)
  const nothing = await episodeOf('train/6', ['look', 'go to drawer 1'])
  const plate = await episodeOf('train/4', [
    'go to table 1',
    'take plate 3 from table 1',
    'go to cupboard 1',
    'open cupboard 1',
    'put plate 3 at cupboard 1',
  ])
  const all = await examplesOf([nothing, plate, fork, fork], hindsight)
  expect(all).toHaveLength(3)
  expect(await examplesOf([nothing, plate, fork, fork], { ...hindsight, most: 2 })).toEqual(all.slice(0, 2))
  expect(await examplesOf([fork], { ...hindsight, most: 0 })).toEqual([])
})

test('[HINDSIGHT-1] an episode that did not read what its instance says is no example', async () => {
  const lost = await episodeOf('train/6', forkInCupboard)
  const [, second] = lost.turns
  const tokens = lost.tokens.slice()
  // The last token that was read before the second action.
  tokens[(second?.begin ?? 0) - 2] = 0
  expect(await examplesOf([{ ...lost, tokens }], hindsight)).toEqual([])
})

test('a task that does not say what else was reached, or that is not known, has no examples', async () => {
  const lost = await episodeOf('train/6', forkInCupboard)
  const { reached: _, ...silent } = games
  expect(await examplesOf([lost], { ...hindsight, taskOf: () => Promise.resolve(silent) })).toEqual([])
  expect(await examplesOf([lost], { ...hindsight, taskOf: () => Promise.resolve(undefined) })).toEqual([])
})

test('a task that names what the actions do not win gives no example, and its session is closed', async () => {
  const lost = await episodeOf('train/6', forkInCupboard)
  let open = 0
  const wrong = (instance: string, actions: number): Task => ({
    ...games,
    reached: () => Promise.resolve({ instance, actions }),
    create: async () => {
      const environment = await games.create()
      open++
      return {
        tools: environment.tools,
        reset: (instance) => environment.reset(instance),
        step: (action) => environment.step(action),
        async close() {
          open--
          await environment.close()
        },
      }
    },
  })
  for (const [instance, actions] of [
    ['train/6', 7],
    ['train/6/for/place-fork-cupboard', 6],
    ['train/6/for/place-fork-cupboard', 8],
    ['train/4', 7],
  ] as const)
    expect(
      await examplesOf([lost], { ...hindsight, taskOf: () => Promise.resolve(wrong(instance, actions)) }),
    ).toEqual([])
  const said: string[] = []
  const unknown = {
    ...{ ...hindsight, taskOf: () => Promise.resolve(wrong('train/none', 7)) },
    report: (line: string) => said.push(line),
  }
  expect(await examplesOf([lost], unknown)).toEqual([])
  expect(said).toEqual([expect.stringMatching(/left out of hindsight.*train\/none/)])
  expect(open).toBe(0)
})

function endsWith(tokens: Int32Array, part: Int32Array): boolean {
  return (
    part.length < tokens.length &&
    part.every((token, at) => token === tokens[tokens.length - part.length + at])
  )
}

/** Whether so many of the last tokens begin behind all that was read before the first action. */
function isAction(
  { tokens, imitated }: { readonly tokens: Int32Array; readonly imitated: Uint8Array },
  last: number,
): boolean {
  return !imitated.subarray(0, tokens.length - last).includes(1)
}

test('[HINDSIGHT-1] whatever was done, an example differs from its episode in the first observation alone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 400 }), fc.integer(), async (index, seed) => {
      const draw = new Draw(seed)
      const instance = games.instanceAt('train', index)
      const environment = await games.create()
      let { info } = await environment.reset(instance)
      const commands: string[] = []
      for (let turn = 0; turn < 14; turn++) {
        const does = (info.admissible as readonly string[]).filter((command) =>
          /^(go|open|take|put|heat|cool|clean)/.test(command),
        )
        const command = draw.chance(0.2) ? 'fly' : draw.one(does)
        commands.push(command)
        const step = await environment.step(actionOf(command))
        if (step.done) return
        info = step.info
      }
      await environment.close()
      const lost = await episodeOf(instance, commands)
      const [example] = await examplesOf([lost], hindsight)
      if (example === undefined) return
      // It ends with an action of the episode, and from the first action on it is the episode's own tokens.
      const own = lost.turns.map(({ end }) => lost.tokens.slice(lost.turns[0]?.begin, end))
      const tail = own.find((part) => endsWith(example.tokens, part) && isAction(example, part.length))
      expect(tail).toBeDefined()
    }),
    { numRuns: 60 },
  )
})
