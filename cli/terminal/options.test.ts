import { Command } from 'commander'
import { expect, it } from 'vitest'
import { refuseEmptyValues } from './options.ts'

it('an option of several values has all of them, and none may be empty', () => {
  const command = new Command('show').option('--ids <id...>').option('--name <name>').exitOverride()
  command.configureOutput({ writeErr: () => undefined })
  refuseEmptyValues(command)
  command.parse(['--ids', 'a', 'b', '--ids', 'c', '--name', 'd'], { from: 'user' })
  expect(command.opts()).toEqual({ ids: ['a', 'b', 'c'], name: 'd' })
  expect(() => command.parse(['--ids', 'a', ''], { from: 'user' })).toThrow(/It is empty/)
})
