import { expect, it } from 'vitest'
import { ConfigFault } from './fault.ts'
import { resolveConfig } from './loader.ts'
import { refuseRemovedInUse, removedInUse, storedConfig } from './stored-config.ts'

const config = resolveConfig({ rollout: { groupSize: 4 } })
/** As a build before the removal stored it. */
const stored = (wonAgain: number) => ({ ...config, rollout: { ...config.rollout, wonAgain } })

it('a stored configuration that names a removed setting is read without it, used or not [STORED-CONFIG-1]', () => {
  for (const value of [1, 0.25]) expect(storedConfig(stored(value))).toEqual(config)
  expect(storedConfig(config)).toEqual(config)
  expect(() => storedConfig({ rollout: { groupSizes: 4 } })).toThrow('groupSizes')
})

it('a run that used a removed setting is refused by its name, and no other [STORED-CONFIG-2]', () => {
  expect([config, stored(1), stored(0.25)].map(removedInUse)).toEqual([[], [], ['rollout.wonAgain']])
  expect(() => refuseRemovedInUse('run maze', stored(1))).not.toThrow()
  const refusal = () => refuseRemovedInUse('run maze', stored(0.25))
  expect(refusal).toThrow(ConfigFault)
  expect(refusal).toThrow(
    /^run maze uses `rollout\.wonAgain`, which was removed, because no gain was measured with it: continue it with/,
  )
})

it('an earlier choice of an advantage and a loss is read as the algorithm that has both, or refused [STORED-CONFIG-1]', () => {
  const { algorithm: _, ...learning } = config.learning
  const chosen = (objective: string) => ({
    ...config,
    learning: { ...learning, advantage: 'rloo', objective },
  })
  expect(storedConfig(chosen('clipped'))).toEqual({ ...config, learning: { ...learning, algorithm: 'rloo' } })
  expect(() => refuseRemovedInUse('run maze', chosen('gspo'))).toThrow(
    /^run maze uses `learning\.objective`, which belongs to an algorithm now \(`learning\.algorithm`\): continue it/,
  )
})

it('a removed setting of a section within a section is found too', () => {
  const imitation = { ...config.learning.imitation, hindsight: 0, wonByAll: 2 }
  const used = { ...config, learning: { ...config.learning, imitation } }
  expect(storedConfig(used)).toEqual(config)
  expect(removedInUse(used)).toEqual(['learning.imitation.wonByAll'])
})
