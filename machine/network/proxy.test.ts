import { describe, expect, it } from 'vitest'
import { proxyTo, proxyVariables, settleProxyVariables } from './proxy.ts'

const dead = 'http://127.0.0.1:9'

describe('[PROXY-1] a connection to this machine', () => {
  it.each(['127.0.0.1', '127.8.8.8', 'localhost', '::1', '[::1]'])(
    'is direct under every variable: %s',
    (host) => {
      for (const name of ['grpc_proxy', 'https_proxy', 'http_proxy'])
        expect(proxyTo(host, { [name]: dead })).toBeUndefined()
    },
  )

  it('is direct for everything else that reads the variables of the process', () => {
    const env: Record<string, string | undefined> = { HTTPS_PROXY: dead, no_proxy: 'example.org, .internal' }
    settleProxyVariables(env)
    const exceptions = 'example.org,.internal,localhost,127.0.0.1,127.0.0.0/8,::1,[::1]'
    expect(env).toEqual({
      HTTPS_PROXY: dead,
      https_proxy: dead,
      no_proxy: exceptions,
      NO_PROXY: exceptions,
    })
    settleProxyVariables(env)
    expect(env.no_proxy).toBe(exceptions)
  })

  it('is exempt from the list that gRPC prefers too, where there is one', () => {
    const env: Record<string, string | undefined> = { grpc_proxy: dead, no_grpc_proxy: 'example.org' }
    settleProxyVariables(env)
    expect(env.no_grpc_proxy).toBe('example.org,localhost,127.0.0.1,127.0.0.0/8,::1,[::1]')
  })
})

it('an environment without a proxy stays as it is', () => {
  const env = { PATH: '/bin', no_proxy: 'example.org' }
  settleProxyVariables(env)
  expect(env).toEqual({ PATH: '/bin', no_proxy: 'example.org' })
})

describe('a connection to a server elsewhere', () => {
  const host = 'temporal.example.org'

  it('goes through the proxy that the variables name, the most specific one first', () => {
    const env = { http_proxy: 'http://a:1', https_proxy: 'http://b:2', grpc_proxy: 'http://u:p%40ss@c' }
    expect(proxyTo(host, env)).toEqual({
      variable: 'grpc_proxy',
      address: 'c:80',
      credentials: { username: 'u', password: 'p@ss' },
    })
    expect(proxyTo(host, { ...env, grpc_proxy: '' })).toEqual({ variable: 'https_proxy', address: 'b:2' })
  })

  it.each([
    ['temporal.example.org', host],
    ['.example.org', host],
    ['other, example.org', host],
    ['*', host],
    ['10.0.0.0/8', '10.2.3.4'],
  ])('is direct where no_proxy is "%s"', (list, to) => {
    expect(proxyTo(to, { http_proxy: dead, no_proxy: list })).toBeUndefined()
  })

  it.each(['', ',', 'other.org', '10.0.0.0/8', 'example.org/8'])(
    'goes through the proxy where no_proxy is "%s"',
    (list) => {
      expect(proxyTo(host, { http_proxy: dead, no_proxy: list })).toBeDefined()
    },
  )

  it('is direct where the proxy has an address that gRPC cannot use', () => {
    for (const http_proxy of ['socks5://a:1', 'not an address', 'https://a:1'])
      expect(proxyTo(host, { http_proxy })).toBeUndefined()
  })
})

it('the variables in force are listed without the passwords in them', () => {
  const env = { https_proxy: 'http://u:secret@a:1', NO_PROXY: 'b', NODE_USE_ENV_PROXY: '1', HOME: '/' }
  expect(proxyVariables(env)).toEqual(['https_proxy=http://…@a:1', 'NO_PROXY=b', 'NODE_USE_ENV_PROXY=1'])
})
