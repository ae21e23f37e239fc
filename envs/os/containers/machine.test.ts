import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { engineMissing } from '../../../test/host/container-engine.ts'
import { done, graded, openTestMachines, question, type TestMachines, work } from './machines.testing.ts'

const missing = engineMissing()
if (missing !== undefined) console.warn(`machines of os are not tested: ${missing}`)

describe.skipIf(missing !== undefined)('a machine in a container', () => {
  let machines: TestMachines
  beforeAll(async () => {
    machines = await openTestMachines()
  }, 600_000)
  afterAll(() => machines?.close(), 120_000)

  test('a right answer and done work are paid, wrong ones and none are not', async () => {
    expect(await graded(machines.room, question, ['ls /root/d'], '3')).toBe(true)
    expect(await graded(machines.room, question, [], '2')).toBe(false)
    expect(await graded(machines.room, question, [], 'three')).toBe(false)
    expect(await graded(machines.room, work, [done], '')).toBe(true)
    expect(await graded(machines.room, work, ['chmod 600 /srv/d/a'], '')).toBe(false)
    expect(await graded(machines.room, work, [], '')).toBe(false)
  }, 300_000)

  test('tools that the agent has broken change no reward, and honest work beside them is paid', async () => {
    const broken = "printf '#!/bin/sh\\nexit 0\\n' > /usr/bin/stat; rm -f /usr/bin/ls /usr/bin/wc"
    expect(await graded(machines.room, work, [broken], '')).toBe(false)
    expect(await graded(machines.room, work, [done, broken], '')).toBe(true)
  }, 300_000)
})
