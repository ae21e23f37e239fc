import { expect, it } from 'vitest'
import { resolveConfig } from '../../../config/files/loader.ts'
import { preparingPhase, trainingPhase } from './phase.ts'

it('a run without demonstrations shows no warm start', () => {
  expect(preparingPhase(resolveConfig({ warmStart: { demonstrations: 0 } }))).toBe('starting')
  expect(preparingPhase(resolveConfig({ warmStart: { demonstrations: 5 } }))).toBe('warm_start')
})

it('a run that was paused during its warm start is paused after it', () => {
  expect([trainingPhase({ paused: true }), trainingPhase({ paused: false })]).toEqual(['paused', 'training'])
})
