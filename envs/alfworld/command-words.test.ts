import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { sharedData } from '../../test/support/shared-data.ts'
import { toy } from '../../worlds/text-adventure/toy.testing.ts'
import { commandWordsOf } from './command-words.ts'
import { openDataset } from './dataset.ts'
import { alfworld } from './definition.ts'
import { dialectOf, householdDialect, officialDialect } from './dialect.ts'
import { createExpert } from './expert.ts'

/** A game whose grammar words these actions. */
function wording(actions: Readonly<Record<string, string>>) {
  const texts = Object.entries(actions).map(
    ([name, template]) => `action ${name} { template :: "${template}"; feedback :: "Done."; }`,
  )
  return { ...toy, grammar: texts.join('\n') }
}

const older = wording({
  GotoLocation: 'go to [{r.name | receptacleatlocation(r:receptacle, lend:location)}]',
  PickupObject: 'take {o} from {r}',
  PutObject: 'put {o} in/on {r}',
  examineReceptacle: 'examine {r}',
  ToggleObject: 'toggle {o} at {r}',
})

describe('words of commands', () => {
  // [COMMAND-WORDS-1]
  test.each([
    ['built-in games', householdDialect.words],
    ['release 0.4.2', officialDialect.words],
    ['an older release', commandWordsOf(older)],
  ])('of %s are read as they are written', (_, words) => {
    const names = { thing: 'mug 2', place: 'desk 1' }
    expect(words.read(words.write('put', names))).toEqual({ kind: 'put', ...names })
    expect(words.read(words.write('take', names))).toEqual({ kind: 'take', ...names })
    expect(words.read(words.write('go', names))).toEqual({ kind: 'go', place: 'desk 1' })
    expect(words.read('sing to desk 1')).toBeUndefined()
  })

  // [COMMAND-WORDS-2]
  test("of an official game are its grammar's, in the expert's mouth too", () => {
    const words = commandWordsOf(older)
    expect(words.list()).toEqual([
      'go to PLACE',
      'examine NAME',
      'take THING from PLACE',
      'put THING in/on PLACE',
      'toggle LAMP at PLACE',
    ])
    const expert = createExpert(dialectOf(older))
    const said = [
      'Looking quickly around you, you see a bed 1, and a sidetable 1.\n\nYour task is to: put some book on sidetable.',
      'You arrive at bed 1. On the bed 1, you see a book 2.',
      'You pick up the book 2 from the bed 1.',
      'You arrive at sidetable 1. On the sidetable 1, you see nothing.',
    ]
    let command: string | undefined
    const commands = said.map((observation) => {
      expert.see(observation, command)
      command = expert.next()?.command
      return command
    })
    expect(commands).toEqual([
      'go to bed 1',
      'take book 2 from bed 1',
      'go to sidetable 1',
      'put book 2 in/on sidetable 1',
    ])
  })

  // [COMMAND-WORDS-2]
  test('that a grammar lacks are refused by a message that names the releases', () => {
    const words = commandWordsOf(wording({ PutObject: 'put {o} in {r} for {a}' }))
    expect(() => words.write('put', { thing: 'mug 1', place: 'desk 1' })).toThrow(/ALFWorld 0\.3 and 0\.4/)
    expect(words.list()).toEqual([])
  })
})

const data = sharedData('alfworld')
const missing = existsSync(data) ? false : `no official games in ${data}`

describe.skipIf(missing)(`official games in older words${missing ? ` (skipped: ${missing})` : ''}`, () => {
  let dir = ''
  afterEach(() => rm(dir, { recursive: true, force: true }))

  // [COMMAND-WORDS-2]
  test('are demonstrated, advised and explained in those words', async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'perdure-alfworld-'))
    const given = await openDataset(data)
    for (let index = 0; index < 12; index++) {
      const { id, domain, grammar, problem, task } = given.open(given.instanceAt('valid_seen', index))
      const file = path.join(dir, 'json_2.1.1', id, 'game.tw-pddl')
      await mkdir(path.dirname(file), { recursive: true })
      const older = grammar.replaceAll('"move {o} to {r}"', '"put {o} in/on {r}"').replace('@@TASK@@', task)
      const game = { pddl_domain: domain, grammar: older, pddl_problem: problem, solvable: true }
      await writeFile(file, JSON.stringify(game))
    }
    const task = await alfworld.open({ dataDir: dir, settings: { prompt: 'full', demonstrationTurns: 50 } })
    const environment = await task.create()
    let won = 0
    for (let index = 0; index < 12; index++) {
      const instance = task.instanceAt('valid_seen', index)
      const seen = await environment.reset(instance)
      expect(seen.messages[0]?.content).toContain('take THING from PLACE, put THING in/on PLACE, clean')
      const adviser = task.advise?.(instance)
      adviser?.see(seen)
      const played = (await task.demonstrate?.(instance))?.actions ?? []
      won += played.length > 0 ? 1 : 0
      expect(adviser?.advise()).toEqual(played[0] ?? expect.anything())
      const commands = played.map(({ tool_calls: calls = [] }) => String(calls[0]?.arguments.action))
      expect(commands.filter((command) => command.startsWith('move '))).toEqual([])
    }
    expect(won).toBeGreaterThanOrEqual(11)
    await environment.close()
  })
})
