import { expect, it } from 'vitest'
import { TemporalFault } from '../../temporal/server/fault.ts'
import { unlessLost } from './command-session.ts'

const never = new Promise<never>(() => undefined)

it('[COMMAND-SESSION-1] work that can end no more ends its command with the reason', async () => {
  await expect(unlessLost({ stopped: Promise.resolve() }, never)).rejects.toMatchObject({
    kind: 'no_workers',
    message: expect.stringContaining('the workers of this process stopped'),
  })
  const gone = new TemporalFault('gave_up', 'the server does not come back')
  await expect(unlessLost({ stopped: Promise.reject(gone) }, never)).rejects.toBe(gone)
})

it('work that has ended has its answer, whatever becomes of its session', async () => {
  expect(await unlessLost({ stopped: never }, Promise.resolve('answer'))).toBe('answer')
})
