import { expect, it } from 'vitest'
import { reaching } from './fault.ts'

const address = 'far.example:7233'
const late = Object.assign(new Error('context deadline exceeded'), { code: 4 })

it('[REACH-1] a server that does not answer is named in place of the failed call', async () => {
  const failing = () => Promise.reject(late)
  await expect(reaching({ address, silence: () => undefined }, failing)).rejects.toMatchObject({
    kind: 'unreachable',
    message: `The Temporal server at ${address} does not answer.`,
    cause: late,
  })
  const silence = () => 'The Temporal server does not answer since 7 s'
  await expect(reaching({ address, silence }, failing)).rejects.toThrow(`${silence()}.`)
})

it('another failure stays as it is, and an answer too', async () => {
  const denied = Object.assign(new Error('denied'), { code: 7 })
  const server = { address, silence: () => undefined }
  await expect(reaching(server, () => Promise.reject(denied))).rejects.toBe(denied)
  expect(await reaching(server, () => Promise.resolve(7))).toBe(7)
})
