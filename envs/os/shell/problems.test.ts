import { afterAll, describe, expect, test } from 'vitest'
import { Draw } from '../../generated/draw.ts'
import { levels, readSettings, subjects } from '../settings.ts'
import { openLibrary, problemKinds, shellAssignment } from './library.ts'
import { isAnswer, isReached } from './problem.ts'
import { ShellThreads } from './threads.ts'
import type { FoundEntry } from './world.ts'

const threads = new ShellThreads({ threads: 1, deadlineMs: 60_000 })
afterAll(() => threads.close())

/** Positions of a split that see every kind this often. */
const rounds = 3

describe('generated problems', () => {
  test.each(problemKinds)(
    '$name: its solution is right and doing nothing is not',
    async ({ name, make }) => {
      for (let round = 0; round < rounds; round++) {
        const problem = make(new Draw(round * 7_919 + name.length))
        const { goal, solution, world } = problem
        const machine = await shellAssignment({ problem, seed: round }, async () => threads).open()
        if (goal.kind !== 'answer') expect(await machine.grade({ kind: 'finish', thought: '' })).toBe(false)
        let last = { output: '', exitCode: 0 }
        for (const script of solution) last = await machine.run(script)
        const { output } = last
        // Others may show what is wrong.
        expect({ name, ...last }).toMatchObject({ exitCode: 0 })
        const submission =
          goal.kind === 'answer'
            ? ({ kind: 'answer', answer: output } as const)
            : ({ kind: 'finish', thought: '' } as const)
        expect({ name, world, output, right: await machine.grade(submission) }).toMatchObject({ right: true })
        if (goal.kind === 'answer')
          expect(await machine.grade({ kind: 'answer', answer: `${goal.answer}7` })).toBe(false)
        await machine.close()
      }
    },
    60_000,
  )

  test('an assignment that one script could do is given by a ticket, which its scripts read first', async () => {
    const library = openLibrary(readSettings({}))
    for (let index = 0; index < problemKinds.length; index++) {
      const { problem, seed } = library.open(`validation/${index}`)
      const { solution, goal } = problem
      expect(solution.length).toBeGreaterThan(2)
      const machine = await shellAssignment({ problem, seed }, async () => threads).open()
      const results = []
      for (const script of solution) results.push(await machine.run(script))
      if (solution[1]?.startsWith('cat /var/tickets/')) {
        expect(results[0]?.output).toContain(solution[1].slice('cat '.length))
        expect(results[1]?.output).toMatch(/\w[.?]\n$/)
      }
      const submission =
        goal.kind === 'answer'
          ? ({ kind: 'answer', answer: results.at(-1)?.output ?? '' } as const)
          : ({ kind: 'finish', thought: '' } as const)
      expect({ solution, results, right: await machine.grade(submission) }).toMatchObject({ right: true })
      await machine.close()
    }
  }, 60_000)

  test('there are problems of every level about every subject', () => {
    for (const level of levels)
      for (const subject of subjects)
        expect(problemKinds.some((kind) => kind.level === level && kind.subject === subject)).toBe(true)
    expect(new Set(problemKinds.map(({ name }) => name)).size).toBe(problemKinds.length)
  })

  test('a problem is a function of its id, and splits are disjoint', () => {
    const library = openLibrary(readSettings({}))
    const seen = new Map<string, string>()
    for (const { name } of library.splits)
      for (let index = 0; index < 400; index++) {
        const id = library.instanceAt(name, index)
        const problem = JSON.stringify(library.open(id))
        expect(JSON.stringify(library.open(id))).toBe(problem)
        expect(seen.get(problem)).toBeUndefined()
        seen.set(problem, id)
      }
  })

  test('levels and subjects choose the kinds, and a choice without kinds is refused', () => {
    const library = openLibrary({ levels: ['easy'], subjects: ['processes'] })
    for (let index = 0; index < 20; index++)
      expect(library.open(`train/${index}`).problem.world.processes.length).toBeGreaterThan(1)
    expect(() => openLibrary({ levels: [], subjects: [...subjects] })).toThrow(/no problems/)
  })
})

test('an answer is right with blanks around it or another spelling of the number, and not otherwise', () => {
  expect(isAnswer(' 12\n', '12')).toBe(true)
  expect(isAnswer('012', '12')).toBe(true)
  for (const wrong of ['', '12.0', '12 files', '1 2', '0x0c', 'twelve', '121'])
    expect(isAnswer(wrong, '12')).toBe(false)
  expect(isAnswer('Amber', 'amber')).toBe(false)
})

test('work is right when the watched folder holds exactly what is expected', () => {
  const goal = { kind: 'files', below: '/d', files: [{ path: '/d/a', content: 'x', mode: 0o600 }] } as const
  const file = (content: string, mode = 0o600): FoundEntry => ({ kind: 'file', mode, content })
  const check = (entries: readonly (readonly [string, FoundEntry])[]) =>
    isReached(goal, { entries: new Map(entries), processes: [] })
  expect(check([['/d/a', file('x')]])).toBe(true)
  // Files elsewhere do not matter.
  expect(
    check([
      ['/d/a', file('x')],
      ['/tmp/scratch', file('y')],
    ]),
  ).toBe(true)
  expect(check([])).toBe(false)
  expect(check([['/d/a', file('y')]])).toBe(false)
  expect(check([['/d/a', file('x', 0o644)]])).toBe(false)
  expect(check([['/d/a', { kind: 'link', target: '/e' }]])).toBe(false)
  expect(
    check([
      ['/d/a', file('x')],
      ['/d/b', file('')],
    ]),
  ).toBe(false)
})
