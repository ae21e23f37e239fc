import { expect, it } from 'vitest'
import { EnvironmentFault } from '../../envs/contract/environment.ts'
import { createLeftOut } from './left-out.ts'

const failed = (kind: EnvironmentFault['kind'] = 'failed') => {
  return () => Promise.reject(new EnvironmentFault(kind, `reset of maze on train/7 failed: ${kind}`))
}
const won = () => Promise.resolve('won')

it('[LEFT-OUT-1] an instance that fails is left out, counted and reported, and others are played', async () => {
  const said: string[] = []
  const leftOut = createLeftOut('demonstrations', (line) => said.push(line))
  expect(await leftOut.playing(won)).toEqual({ result: 'won' })
  expect(await leftOut.playing(failed())).toBeUndefined()
  expect(await leftOut.playing(won)).toEqual({ result: 'won' })
  leftOut.requireOne()
  expect(leftOut.count).toBe(1)
  expect(said).toEqual([
    'an instance is left out of demonstrations (1 so far): reset of maze on train/7 failed: failed',
  ])
})

it('what failed once by chance is played again, and what hung is not', async () => {
  let tries = 0
  const onceFailing = (kind: EnvironmentFault['kind']) => () => (tries++ === 0 ? failed(kind)() : won())
  const leftOut = createLeftOut('demonstrations')
  expect(await leftOut.playing(onceFailing('session_lost'))).toEqual({ result: 'won' })
  tries = 0
  expect(await leftOut.playing(onceFailing('no_answer'))).toBeUndefined()
  expect(tries).toBe(1)
})

it.each([
  ['failed', 16],
  ['no_answer', 3],
] as const)('[LEFT-OUT-2] %s ends the work after %i in a row, with the last reason', async (kind, most) => {
  const leftOut = createLeftOut('demonstrations')
  for (let n = 1; n < most; n++) expect(await leftOut.playing(failed(kind))).toBeUndefined()
  await expect(leftOut.playing(failed(kind))).rejects.toMatchObject({
    ...{ kind: 'none_playable', permanent: true },
    message: `no instance can be played for demonstrations: ${most} in a row failed, the last one so: reset of maze on train/7 failed: ${kind}`,
  })
})

it('fewer failures end it where nothing else came, and what the environment depends on is thrown as it is', async () => {
  const leftOut = createLeftOut('corrections')
  await leftOut.playing(failed())
  expect(() => leftOut.requireOne()).toThrow(/no instance can be played for corrections: 1 in a row/)
  createLeftOut('corrections').requireOne()
  await expect(leftOut.playing(failed('backend'))).rejects.toMatchObject({ kind: 'backend' })
})
