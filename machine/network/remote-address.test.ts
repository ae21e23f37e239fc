import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { AddressFault, addressFrom, isRemoteAddress, readRemoteAddress } from './remote-address.ts'

it('an address names protocol, server and task', () => {
  const { protocol, url, name, authorization, shown } = readRemoteAddress('openenv+https://host:8000/a#maze')
  expect([protocol, url.href, name, authorization, shown]).toEqual([
    'openenv',
    'https://host:8000/a',
    'maze',
    undefined,
    'openenv+https://host:8000/a#maze',
  ])
})

// [ADDRESS-1]
it.each([
  ...['foo+http://host', 'http://host:8000', 'openenv+http://', 'openenv+ftp://host', 'openenv+host'],
  ...['harbor+', 'harbor+#a', 'harbor+http://host'],
])('%s is an address that is refused with its value and what is allowed', (text) => {
  expect(isRemoteAddress(text)).toBe(true)
  expect(() => readRemoteAddress(text)).toThrow(AddressFault)
  expect(() => readRemoteAddress(text)).toThrow(
    `"${text}": expected openenv+http(s)://HOST:PORT[#NAME] or agentrl+http(s)://HOST:PORT[#NAME] or harbor+FOLDER[#NAME]`,
  )
})

it.each(['./a+b', '/a+b', 'a-package', '@scope/a', 'file:///a', '../x'])('%s is no address', (text) => {
  expect(isRemoteAddress(text)).toBe(false)
})

// [ADDRESS-2]
it('a secret is filled in where it is used, whatever letters it has, and never where it is shown', () => {
  const [word, key] = ['WORD', 'KEY'].map((name) => `\${${name}}`)
  const text = `openenv+https://me:${word}@host/?key=${key}`
  const secrets: Record<string, string> = { [word ?? '']: 'p@ss/w:rd', [key ?? '']: 'a&b' }
  const { url, authorization, shown } = readRemoteAddress(text, (part) => secrets[part] ?? part)
  expect(authorization).toBe(`Basic ${Buffer.from('me:p@ss/w:rd').toString('base64')}`)
  expect(url.searchParams.get('key')).toBe('a&b')
  expect([url.username, url.password, shown]).toEqual(['', '', text])
})

it('the address of a folder starts at the working directory, or at the folder of the file that names it', () => {
  const { protocol, url, name } = readRemoteAddress('harbor+./tasks#hello')
  expect([protocol, url.href, name]).toEqual(['harbor', pathToFileURL(resolve('tasks')).href, 'hello'])
  expect(addressFrom('/a/b', 'harbor+../tasks#hello')).toBe('harbor+/a/tasks#hello')
  expect(addressFrom('/a/b', 'harbor+/c')).toBe('harbor+/c')
  expect(addressFrom('/a/b', 'openenv+http://host#x')).toBe('openenv+http://host#x')
  expect(() => readRemoteAddress('harbor+~/tasks')).toThrow(/only a shell replaces/)
})
