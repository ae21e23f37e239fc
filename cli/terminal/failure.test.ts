/** Exit codes and messages of failures. */
import { CommanderError } from 'commander'
import { expect, test } from 'vitest'
import { SessionFault } from '../../client/run/session-fault.ts'
import { ConfigFault } from '../../config/files/fault.ts'
import { TemporalFault } from '../../temporal/server/fault.ts'
import { CallFault, exitCodeOf, explain } from './failure.ts'

test('2 when the call was wrong, 1 for everything else', () => {
  expect(exitCodeOf(new ConfigFault('bad_value', []))).toBe(2)
  expect(exitCodeOf(new CallFault('bad_flag', ''))).toBe(2)
  expect(exitCodeOf(new CommanderError(1, 'commander.unknownOption', ''))).toBe(2)
  expect(exitCodeOf(new CommanderError(0, 'commander.help', ''))).toBe(0)
  expect(exitCodeOf(new SessionFault('unknown_run', ''))).toBe(2)
  expect(exitCodeOf(new SessionFault('no_workers', ''))).toBe(1)
  expect(exitCodeOf(new TemporalFault('unknown_namespace', ''))).toBe(2)
  expect(exitCodeOf(new TemporalFault('bad_settings', ''))).toBe(2)
  expect(exitCodeOf(new TemporalFault('unreachable', ''))).toBe(1)
  expect(exitCodeOf(new Error('any'))).toBe(1)
  expect(exitCodeOf('text')).toBe(1)
})

test('a stack is printed only with PERDURE_DEBUG', () => {
  const error = new Error('broken')
  expect(explain(error, false)).toBe('broken\nPERDURE_DEBUG=1 shows where this happened.')
  expect(explain(error, true)).toBe(error.stack)
  expect(explain(new CallFault('bad_flag', '--home is wrong'), false)).toBe('--home is wrong')
})

test('what commander said already is not said again', () => {
  expect(explain(new CommanderError(1, 'x', 'error: x'), false)).toBe('')
})

test('what failed first is said first and decides the exit code, where closing failed after it', () => {
  const error = new SuppressedError(new Error('closing'), new CallFault('bad_flag', '--home is wrong'))
  expect(exitCodeOf(error)).toBe(2)
  expect(explain(error, false)).toMatch(/^--home is wrong\nClosing failed too: closing\n/)
})
