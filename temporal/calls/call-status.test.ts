import { Connection } from '@temporalio/client'
import { TransportError } from '@temporalio/worker'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../test/host/free-port.ts'
import { isDeadline, isExhausted, isExisting, isNotFound, isNotReady, isUnreached } from './call-status.ts'

const statusOf = (code: number): Error => Object.assign(new Error('from the server'), { code })

describe('the status of a failed call', () => {
  test.each([
    ['a passed deadline', isDeadline, 4],
    ['a call that its client ended for want of time', isDeadline, 1],
    ['a call that was late', isUnreached, 4],
    ['a server that cannot be reached', isUnreached, 14],
    ['a workflow without a worker', isNotReady, 9],
    ['an unknown name', isNotFound, 5],
    ['a name that is taken', isExisting, 6],
    ['a limit that is reached', isExhausted, 8],
  ])('%s is known by its number, however deep it is wrapped', (_, judge, code) => {
    expect(judge(statusOf(code))).toBe(true)
    expect(judge(new Error('outer', { cause: new Error('inner', { cause: statusOf(code) }) }))).toBe(true)
    expect(judge(statusOf(13))).toBe(false)
    expect(judge(undefined)).toBe(false)
  })

  test('a connection that could not be made has no number, and is known by its error', async () => {
    const port = await freePort()
    const refused = Connection.connect({ address: `127.0.0.1:${port}`, connectTimeout: 100 })
    expect(isUnreached(await refused.catch((error: unknown) => error))).toBe(true)
    expect(isUnreached(new Error('outer', { cause: new TransportError('refused') }))).toBe(true)
    expect(isUnreached(new Error('another'))).toBe(false)
  })
})
