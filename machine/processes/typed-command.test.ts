/** Commands are printed as they are typed here. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandName, typedWords, withTypedCommands } from './typed-command.ts'

let root: string
let onPath: string

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'perdure-name-'))
  onPath = join(root, 'global')
  mkdirSync(join(root, 'bin'))
  mkdirSync(onPath)
  writeFileSync(join(root, 'bin', 'perdure.mjs'), '')
  symlinkSync(join(root, 'bin', 'perdure.mjs'), join(onPath, 'perdure'))
})

afterAll(() => rmSync(root, { recursive: true }))

test('where the shell finds this very command it is `perdure`', () => {
  expect(commandName({ PATH: `/nowhere:${onPath}` }, root)).toBe('perdure')
})

test('in a checkout, and where it is a dependency, it is `npx perdure`', () => {
  expect(commandName({ PATH: '/nowhere' }, root)).toBe('npx perdure')
})

test('what a package runner puts on the PATH is not on that of the shell', () => {
  expect(commandName({ PATH: onPath, npm_command: 'exec' }, root)).toBe('npx perdure')
})

test('another `perdure` that the shell finds first is not this one', () => {
  const other = join(root, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'perdure'), '')
  expect(commandName({ PATH: `${other}:${onPath}` }, root)).toBe('npx perdure')
})

test('[TYPED-1] commands in a text are replaced wherever they are, and other words are left alone', () => {
  const text = '`perdure resume first` continues.\n  perdure ui\n  $ perdure runs\n  | perdure env replay db'
  expect(withTypedCommands(text, 'npx perdure')).toBe(
    '`npx perdure resume first` continues.\n  npx perdure ui\n  $ npx perdure runs\n  | npx perdure env replay db',
  )
  expect(withTypedCommands('Usage: perdure [options]', 'npx perdure')).toBe('Usage: npx perdure [options]')
  for (const same of ['npx perdure ui', '/home/perdure runs', 'the `perdure` command', 'perdure-p3xk0a'])
    expect(withTypedCommands(same, 'npx perdure')).toBe(same)
})

test('[TYPED-2] commands in backticks act on the home that was given', () => {
  const home = { directory: '/data/my home#1', takers: ['resume', 'env play'] }
  const typed = (text: string) => withTypedCommands(text, 'npx perdure', home)
  expect(typed('`perdure resume first` continues it; `perdure env list` shows tasks')).toBe(
    "`npx perdure resume first --home '/data/my home#1'` continues it; `npx perdure env list` shows tasks",
  )
  expect(typed('or `perdure env play db`')).toBe("or `npx perdure env play db --home '/data/my home#1'`")
  expect(typed('`perdure resume first --home /other`')).toBe('`npx perdure resume first --home /other`')
})

test('words are quoted where a shell needs it', () => {
  expect(typedWords(['eval', "it's", 'a#b', '--set', 'x.y=1'])).toBe("eval 'it'\\''s' 'a#b' --set x.y=1")
})

test('a word with control characters is one that a terminal shows and a shell reads back', () => {
  const words = ["a\n'b'\\", '\u001b[31m\u202e ü']
  const typed = typedWords(words)
  expect(typed).not.toMatch(/\p{Cc}|\p{Bidi_Control}/u)
  const shell = ['bash', '--norc', '-c', `printf '%s|' ${typed}`] as const
  expect(execFileSync(shell[0], shell.slice(1), { encoding: 'utf8', env: { LC_ALL: 'C.UTF-8' } })).toBe(
    `${words.join('|')}|`,
  )
})
